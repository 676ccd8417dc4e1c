throw new Error("must never be run")
