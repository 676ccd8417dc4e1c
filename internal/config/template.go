package config

// Template is the text of a new settings file. It teaches what may be set.
const Template = `# Settings of loopd for this plugin. Every key may also be given in the
# environment as LOOPD_<KEY>. "loopd config" prints what is in force.

plugin: %s        # directory with .claude-plugin/plugin.json
suite: %s         # what measures: a sealed directory, or "bundled"
agent: claude     # the agent CLI: a name on PATH, or a path
parallel: 2       # sessions side by side
# sessions: 400   # budget of a campaign; "loopd run --sessions N" overrides it
# profile: fast   # rule for keeping: fast, strict, certified, scout; see "loopd plan"
# session_seconds: 120   # used by "loopd plan" and "run --until" until some were measured
# session_usd: 0.15      # used by "loopd plan" and "run --cost" until some were measured
# sentinels: 0.1         # watch for drift of the model with so many cells a round
# quota: {leave_5h: 20%%, leave_7d: 30%%}   # of a subscription, kept for yourself
# spend: {session_usd: 1, candidate_usd: 20, campaign_usd: 80}   # at list price
# power: {keep_awake: true, on_battery: pause}   # or on_battery: run
# serve: {start: "30 22 * * *", until: "06:30"}   # the windows of "loopd serve"
# isolation: {memory: 4GiB, disk: 4GiB, processes: 1024}   # the most one session may use
# isolation: {read: [/home/me/.rbenv]}   # toolchains that sessions may read and run
# proposer: {model: builtin}   # who fills an empty queue: none, builtin, agent, command
# judge: "./judge.sh"   # answers YES or NO where no file settles a scenario
# tiers: [haiku, sonnet]
# scenarios: [W1, R1]
`
