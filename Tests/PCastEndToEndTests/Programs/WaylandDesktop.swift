import Foundation
import PCastCore
import Testing

/// A Wayland desktop of a test: sway with one output that no screen shows, PipeWire with WirePlumber, and the desktop portal
/// with the backend of wlroots, on a session bus of their own.
final class WaylandDesktop: Sendable {
    /// The choice of the monitor that a program may capture.
    enum Chooser: Sendable {
        /// The monitor is chosen without a dialog.
        case none
        /// A shell command prints the name of the monitor, or nothing for a refusal.
        case command(String)
    }

    /// A running compositor.
    struct Compositor: Sendable {
        let program: RunningProgram
        /// The value of `WAYLAND_DISPLAY`.
        let display: String
        /// The socket of `swaymsg`.
        let socket: String
    }

    static let output = "HEADLESS-1"

    /// The time after which a program is killed: that of the whole test, which starts several programs one after another.
    static let limit = Duration.seconds(600)

    private let workspace: TestWorkspace
    private let environment: [String: String]

    /// Starts the session bus. `chooser` is how a monitor is chosen.
    init(in workspace: TestWorkspace, chooser: Chooser = .none) async throws {
        self.workspace = workspace
        let home = workspace.path("desktop")
        environment = [
            "HOME": home, "XDG_CONFIG_HOME": "\(home)/config", "XDG_STATE_HOME": "\(home)/state",
            "XDG_DATA_HOME": "\(home)/data", "XDG_CACHE_HOME": "\(home)/cache", "XDG_CURRENT_DESKTOP": "sway",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(workspace.runtimeDirectory)/bus", "DISPLAY": "",
            "WAYLAND_DISPLAY": "", "PULSE_SERVER": "",
        ]
        try configure(home, chooser)
        try await workspace.run(
            "cc",
            ["-shared", "-fPIC", "-o", workspace.path("preload.so"), "\(BuiltProgram.peers)/desktop_preload.c"])
        let bus = try start(
            "dbus-daemon", ["--config-file=\(home)/bus.conf", "--nofork", "--nopidfile", "--print-address"])
        guard await bus.output.lines.first() != nil else {
            throw EndToEndFailure("there is no session bus\n\(bus.report)")
        }
        let permissions = try start("/usr/libexec/xdg-permission-store", [])
        try await awaitName("org.freedesktop.impl.portal.PermissionStore", of: permissions)
    }

    /// The variables of programs without a compositor.
    var variables: [String: String] { environment }

    /// The variables of programs of the desktop.
    func variables(_ compositor: Compositor) -> [String: String] {
        environment.merging(["WAYLAND_DISPLAY": compositor.display, "SWAYSOCK": compositor.socket]) { _, own in own }
    }

    /// Starts all programs with an output of a size. Returns the compositor, PipeWire, and the backend of the portal.
    func startAll(_ size: Dimensions) async throws -> (
        compositor: Compositor, pipeWire: [RunningProgram], backend: RunningProgram
    ) {
        let pipeWire = try await startPipeWire()
        let compositor = try await startCompositor(size)
        let backend = try await startBackend(of: compositor)
        let portal = try start("/usr/libexec/xdg-desktop-portal", [])
        try await awaitName("org.freedesktop.portal.Desktop", of: portal)
        return (compositor, pipeWire, backend)
    }

    /// Starts PipeWire with WirePlumber.
    func startPipeWire() async throws -> [RunningProgram] {
        let server = try start("pipewire", [])
        try await succeeds("pw-cli", ["info", "0"], server)
        return [server, try start("wireplumber", [])]
    }

    /// Starts a camera that only PipeWire has, with 30 frames per second, and waits until the server lists it.
    func startCamera(_ name: String, _ size: Dimensions) async throws -> RunningProgram {
        let program = workspace.path("pipewire_camera")
        if !FileManager.default.isExecutableFile(atPath: program) {
            try await workspace.run(
                "cc",
                [
                    "-O1", "-I", "\(BuiltProgram.peers)/../../../CPipeWire", "-o", program,
                    "\(BuiltProgram.peers)/pipewire_camera.c", "-ldl",
                ])
        }
        let camera = try start(program, [name, "\(size.width)", "\(size.height)"])
        // The state is “paused”, in which the node has its formats.
        guard await camera.output.lines.first(where: { $0 == "state 2" }) != nil else {
            throw EndToEndFailure("the camera is not connected\n\(camera.report)")
        }
        try await succeeds("sh", ["-c", "pw-cli ls Node | grep -q '\(name)'"], camera)
        return camera
    }

    /// Creates an output of PipeWire without hardware, and waits until the server lists it.
    func createOutput(_ name: String) async throws {
        let properties = """
            { factory.name=support.null-audio-sink node.name=\(name) node.description="Test \(name)" \
            media.class=Audio/Sink object.linger=true audio.position=[FL FR] }
            """
        let creation = try start("pw-cli", ["create-node", "adapter", properties])
        try await creation.expectExitStatus(0)
        try await succeeds("sh", ["-c", "pw-cli ls Node | grep -q '\(name)'"], creation, isOver: true)
    }

    /// Plays a tone on PipeWire by a program of a name, or as a microphone of a name, and waits until the server lists it.
    func play(_ frequency: Double, as name: String, isMicrophone: Bool = false) async throws -> RunningProgram {
        let path = workspace.path("\(Int(frequency)).wav")
        if !FileManager.default.fileExists(atPath: path) {
            try Self.tone(frequency).write(to: URL(fileURLWithPath: path))
        }
        let role = isMicrophone ? "media.class=Audio/Source" : "media.role=Music"
        let properties = "{ application.name=\"\(name)\" node.name=\"\(name)\" \(role) }"
        let player = try start("pw-play", ["-P", properties, path])
        try await succeeds("sh", ["-c", "pw-cli ls Node | grep -q '\(name)'"], player)
        return player
    }

    /// Returns a file of ten minutes with a tone of half the full scale, mono at 8 kHz.
    private static func tone(_ frequency: Double) -> Data {
        let (rate, seconds) = (8_000, 600)
        var second = Data()
        for index in 0..<rate {
            let sample = Int16(16_384 * sin(2 * .pi * frequency * Double(index) / Double(rate)))
            withUnsafeBytes(of: sample.littleEndian) { second.append(contentsOf: $0) }
        }
        let size = second.count * seconds
        var file = Data("RIFF".utf8)
        func append(_ number: Int, _ count: Int) {
            withUnsafeBytes(of: UInt32(number).littleEndian) { file.append(contentsOf: $0.prefix(count)) }
        }
        append(36 + size, 4)
        file.append(Data("WAVEfmt ".utf8))
        // PCM with one channel, the bytes per second and per sample, and the bits of a sample.
        for (number, count) in [(16, 4), (1, 2), (1, 2), (rate, 4), (rate * 2, 4), (2, 2), (16, 2)] {
            append(number, count)
        }
        file.append(Data("data".utf8))
        append(size, 4)
        for _ in 0..<seconds { file.append(second) }
        return file
    }

    /// Starts the compositor with an output of 60 Hz.
    func startCompositor(_ size: Dimensions) async throws -> Compositor {
        let path = workspace.path("sway.conf")
        try """
        output \(Self.output) mode --custom \(size.width)x\(size.height)@60Hz
        default_border none
        xwayland disable
        exec echo "display $WAYLAND_DISPLAY $SWAYSOCK"

        """.write(toFile: path, atomically: true, encoding: .utf8)
        let program = try start(
            "sway", ["--config", path],
            [
                "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1",
                "LD_PRELOAD": workspace.path("preload.so"),
            ])
        let words = await program.output.lines.first { $0.hasPrefix("display ") }?.split(separator: " ") ?? []
        guard words.count == 3 else { throw EndToEndFailure("sway does not start\n\(program.report)") }
        return Compositor(program: program, display: String(words[1]), socket: String(words[2]))
    }

    /// Starts the backend of the portal, which captures the output of a compositor to PipeWire.
    func startBackend(of compositor: Compositor) async throws -> RunningProgram {
        let backend = try start(
            "/usr/libexec/xdg-desktop-portal-wlr",
            ["--config", "\(workspace.path("desktop"))/wlr.conf", "--loglevel", "INFO"],
            [
                "WAYLAND_DISPLAY": compositor.display, "XDPW_PERSIST_MODE": "permanent",
                "LD_PRELOAD": workspace.path("preload.so"),
            ])
        try await awaitName("org.freedesktop.impl.portal.desktop.wlr", of: backend)
        return backend
    }

    /// Starts a program that shows the time strip on the whole output of a size, with 30 frames per second, and waits
    /// until it does.
    func showPattern(on compositor: Compositor, of size: Dimensions) async throws {
        let program = try workspace.start(
            "/usr/bin/python3", ["\(BuiltProgram.peers)/wayland_pattern.py", "--every", "2"], limit: Self.limit,
            variables: variables(compositor))
        _ = try await program.event("resized") { $0["width"].number == Double(size.width) }
    }

    /// Changes the size of the output.
    func resize(_ compositor: Compositor, to size: Dimensions) async throws {
        let words = ["--", "output", Self.output, "mode", "--custom", "\(size.width)x\(size.height)@60Hz"]
        let program = try start("swaymsg", words, variables(compositor))
        try await program.expectExitStatus(0)
    }

    /// Kills programs of the desktop. The backend of the portal needs the compositor and PipeWire, and must be among them.
    func kill(_ programs: [RunningProgram]) async throws {
        for program in programs { program.send(SIGKILL) }
        for program in programs { try await program.exitStatus() }
    }

    // MARK: Programs

    private func start(
        _ program: String, _ arguments: [String], _ variables: [String: String] = [:]
    ) throws -> RunningProgram {
        guard let path = program.contains("/") ? program : BuiltProgram.installed(program) else {
            throw EndToEndFailure("\(program) is not installed")
        }
        return try workspace.start(
            path, arguments, limit: Self.limit, variables: environment.merging(variables) { _, own in own })
    }

    /// Waits until a program of D-Bus has its name.
    private func awaitName(_ name: String, of program: RunningProgram) async throws {
        try await succeeds(
            "dbus-send",
            [
                "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetNameOwner",
                "string:\(name)",
            ], program)
    }

    /// Repeats a command until it succeeds, while the program that it asks is running, or after it if `isOver` is true.
    private func succeeds(
        _ command: String, _ arguments: [String], _ program: RunningProgram, isOver: Bool = false
    ) async throws {
        let deadline = ContinuousClock.now + .timeout
        while try await start(command, arguments).exitStatus() != 0 {
            guard isOver || program.isRunning, ContinuousClock.now < deadline else {
                throw EndToEndFailure("\(command) \(arguments.joined(separator: " ")) fails\n\(program.report)")
            }
            try await ContinuousClock().sleep(for: .milliseconds(50))
        }
    }

    // MARK: Configuration

    private func configure(_ home: String, _ chooser: Chooser) throws {
        let choice =
            switch chooser {
            case .none: "chooser_type=none"
            case .command(let command): "chooser_type=simple\nchooser_cmd=\(command)"
            }
        // WirePlumber leaves the devices of the machine alone.
        let files = [
            "bus.conf": """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>unix:path=\(workspace.runtimeDirectory)/bus</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
            </busconfig>
            """,
            "wlr.conf": "[screencast]\noutput_name=\(Self.output)\n\(choice)\n",
            "config/wireplumber/main.lua.d/80-no-devices.lua": """
            alsa_monitor.enabled = false
            v4l2_monitor.enabled = false
            libcamera_monitor.enabled = false
            """,
            "config/wireplumber/bluetooth.lua.d/80-no-devices.lua": "bluez_monitor.enabled = false",
        ]
        for (name, text) in files {
            let file = URL(fileURLWithPath: "\(home)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
    }
}
