package main

// systemdUnit runs serve as a service of a user. What it may use bounds loopd and
// all its sessions together.
const systemdUnit = `[Unit]
Description=loopd for {{dir}}
Documentation=man:loopd-serve(1)
After=network-online.target

[Service]
Type=notify
WorkingDirectory={{dir}}
ExecStart={{program}} serve
Restart=on-failure
RestartSec=60
# The first signal lets running sessions end.
KillMode=mixed
TimeoutStopSec=900
WatchdogSec=900
TasksMax=4096

[Install]
WantedBy=default.target

# systemctl --user daemon-reload
# systemctl --user enable --now loopd
# loginctl enable-linger            so that it runs while nobody is logged in
`

// launchdPlist runs serve as an agent of a user.
const launchdPlist = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/loopd.plist -->
<plist version="1.0">
<dict>
  <key>Label</key><string>loopd</string>
  <key>ProgramArguments</key>
  <array><string>{{program}}</string><string>serve</string></array>
  <key>WorkingDirectory</key><string>{{dir}}</string>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>60</integer>
  <key>ExitTimeOut</key><integer>900</integer>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
`
