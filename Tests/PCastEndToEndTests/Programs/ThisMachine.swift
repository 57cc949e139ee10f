import Foundation
import PCastIO

/// The programs that are available on this machine. Each missing one is reported once, for `scripts/test` to collect.
enum ThisMachine {
    /// Whether the end-to-end tests run in full length.
    static let isFull = ProcessInfo.processInfo.environment["PCAST_FULL"] == "1"

    static let hasFFmpeg = can("the film and recordings", when: ["ffmpeg", "ffprobe"])

    /// Whether the server of the directory of a cluster is installed.
    static let hasNATS = can("clusters of processes", when: ["nats-server"])

    static let hasChromium = can("Chromium", when: ["chromium", "python3"])

    /// Whether Firefox and its driver are installed.
    static let hasFirefox: Bool = {
        guard can("Firefox", when: ["firefox-esr"]) else { return false }
        return FileManager.default.isExecutableFile(atPath: "\(cache)/peers/bin/python")
            || dropFrame("Firefox", "scripts/peers has not installed the Python package websockets")
    }()

    /// The files of Phenix's public Web SDK, which is not a part of this project; several versions are separated by
    /// colons.
    static let webSDKs: [String] = {
        let variable = "PCAST_PHENIX_WEB_SDK"
        let paths = (ProcessInfo.processInfo.environment[variable] ?? "").split(separator: ":").map(String.init)
        if paths.isEmpty { _ = dropFrame("Phenix's Web SDK", "\(variable) names no file phenix-web-sdk.js") }
        return paths
    }()

    /// The file with hls.js as an ES module, which is not a part of this project, as `PCAST_HLS_JS` names it or scripts/peers
    /// has installed it; nil if there is none.
    static let hlsJS: String? = {
        let named = ProcessInfo.processInfo.environment["PCAST_HLS_JS"] ?? ""
        let path = named.isEmpty ? "\(cache)/hls.js/hls.js" : named
        if FileManager.default.isReadableFile(atPath: path) { return path }
        _ = dropFrame("hls.js", "scripts/peers has not installed it")
        return nil
    }()

    /// The players of `play_hls.py` that are installed.
    static let hlsPlayers = [
        ("ffplay", "ffplay"), ("mpv", "mpv"), ("gstreamer", "gst-launch-1.0"),
    ].filter { can("\($0.0) as a player of HLS", when: [$0.1, "python3"]) }.map(\.0)

    /// Whether the Swift compiler is installed, which is not so in the virtual machine.
    static let hasSwift = can("programs outside the package", when: ["swift"])

    static let hasNode = can("the module's gate outside a browser", when: ["node"])

    static let hasTypeScript = can("the module's types", when: ["tsc"])

    /// The browsers that can be controlled.
    static let browsers = (hasChromium ? ["chromium"] : []) + (hasFirefox ? ["firefox"] : [])

    /// OBS, and a display for it.
    static let hasOBS = can("OBS", when: ["obs", "Xvfb"])

    /// Whether a Wayland desktop can be started, with a portal that captures it.
    static let hasWaylandDesktop: Bool = {
        let part = "screens of Wayland desktops"
        guard
            can(
                part,
                when: [
                    "sway", "swaymsg", "pipewire", "pw-cli", "wireplumber", "dbus-daemon", "dbus-send", "cc", "python3",
                ])
        else { return false }
        let folder = "/usr/libexec"
        let missing = ["xdg-desktop-portal", "xdg-desktop-portal-wlr", "xdg-permission-store"].filter {
            !FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)")
        }
        return missing.isEmpty || dropFrame(part, "\(missing.joined(separator: ", ")) is not installed in \(folder)")
    }()

    /// Whether a session with PipeWire can be started, and programs that play on it.
    static let hasPipeWireAudio = hasWaylandDesktop && can("audio of PipeWire", when: ["pw-play"])

    /// Whether windows can be opened on a Wayland desktop.
    static let hasWaylandWindows: Bool = {
        guard hasWaylandDesktop else { return false }
        guard let handle = dlopen("libSDL2-2.0.so.0", RTLD_LAZY) else {
            return dropFrame("windows of Wayland desktops", "SDL 2 is not installed (apt-get install libsdl2-2.0-0)")
        }
        dlclose(handle)
        return true
    }()

    /// nginx, as it is installed or as scripts/peers has unpacked it without starting a service; nil if there is none.
    static let nginx: String? = {
        let unpacked = "\(cache)/nginx/usr/sbin/nginx"
        if let path = BuiltProgram.installed("nginx") { return path }
        if FileManager.default.isExecutableFile(atPath: unpacked) { return unpacked }
        _ = dropFrame("a content delivery network", "nginx is not installed")
        return nil
    }()

    /// nginx and its module for RTMP, with the prefix at which both are installed or unpacked; nil if there are none.
    static let nginxRTMP: (program: String, module: String)? = {
        let found = ["", "\(cache)/nginx"].map { prefix in
            (program: "\(prefix)/usr/sbin/nginx", module: "\(prefix)/usr/lib/nginx/modules/ngx_rtmp_module.so")
        }.first { paths in
            FileManager.default.isExecutableFile(atPath: paths.program)
                && FileManager.default.isReadableFile(atPath: paths.module)
        }
        if found == nil { _ = dropFrame("nginx-rtmp as a server", "scripts/peers has not installed it") }
        return found
    }()

    /// Whether Janus is installed, and can run in a network namespace.
    static let hasJanus: Bool = {
        guard can("Janus as a server", when: ["ip", "python3"]) else { return false }
        let isInstalled = ["/usr", "\(cache)/janus/usr"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/bin/janus")
        }
        guard isInstalled else { return dropFrame("Janus as a server", "scripts/peers has not installed it") }
        return hasNamespaces
    }()

    /// The folder with pebble, a certificate authority for tests, where certbot is also installed; otherwise nil.
    static let pebble: String? = {
        let part = "certificates requested by certbot"
        guard can(part, when: ["certbot", "openssl", "python3"]) else { return nil }
        let folders = ["/usr/bin", "\(cache)/pebble/usr/bin"]
        let folder = folders.first { FileManager.default.isExecutableFile(atPath: "\($0)/pebble-challtestsrv") }
        if folder == nil { _ = dropFrame(part, "scripts/peers has not installed pebble") }
        return folder
    }()

    /// The Python that has aiortc and FFmpeg 9, where `hasPeers` is true.
    static let peersPython = "\(cache)/peers/bin/python"

    /// FFmpeg 9, which publishes H.265, AV1, VP9 and several tracks by RTMP; nil if it is not installed.
    static let enhancedFFmpeg: String? = {
        let files = FileManager.default
        let libraries = "\(cache)/peers/lib"
        for version in (try? files.contentsOfDirectory(atPath: libraries)) ?? [] {
            let folder = "\(libraries)/\(version)/site-packages/imageio_ffmpeg/binaries"
            let names = (try? files.contentsOfDirectory(atPath: folder)) ?? []
            let paths = names.filter { $0.hasPrefix("ffmpeg-") }.map { "\(folder)/\($0)" }
            if let path = paths.first(where: { files.isExecutableFile(atPath: $0) }) { return path }
        }
        _ = dropFrame("H.265, AV1 and VP9 by RTMP", "scripts/peers has not installed FFmpeg 9")
        return nil
    }()

    /// Whether aiortc, GStreamer and FFmpeg are available in a network namespace.
    static let hasPeers: Bool = {
        guard can("aiortc, GStreamer and FFmpeg as peers", when: ["ip", "gst-launch-1.0", "python3"]) else {
            return false
        }
        guard FileManager.default.isExecutableFile(atPath: "\(cache)/peers/bin/python") else {
            return dropFrame("aiortc, GStreamer and FFmpeg as peers", "scripts/peers has not installed them")
        }
        return hasNamespaces
    }()

    /// Whether an S3-compatible object store is installed.
    static let hasObjectStore =
        FileManager.default.isExecutableFile(atPath: "\(cache)/objects/bin/python")
        || dropFrame("uploads to an object store", "scripts/peers has not installed moto")

    /// The program that checks an interface against its description; nil if it is not installed.
    static let schemathesis: String? = {
        let path = "\(cache)/checkers/bin/schemathesis"
        if FileManager.default.isExecutableFile(atPath: path) { return path }
        _ = dropFrame("schemathesis", "scripts/peers has not installed it")
        return nil
    }()

    /// The folder of the programs that validate container files; nil if they are not installed.
    static let validators: String? = {
        let folder = "\(cache)/validators/bin"
        let programs = ["kubernetes-validate", "check-jsonschema"]
        if programs.allSatisfy({ FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)") }) { return folder }
        _ = dropFrame("schemas of container files", "scripts/peers has not installed the validators")
        return nil
    }()

    /// Whether the public EdgeAuth library is installed.
    static let hasEdgeAuth =
        FileManager.default.isExecutableFile(atPath: "\(cache)/peers/bin/edgeauth")
        || dropFrame("tokens of the public EdgeAuth library", "scripts/peers has not installed it")

    /// Whether Python is available for programs that need nothing else.
    static let hasPython = can("backends in Python", when: ["python3"])

    /// Whether small disks can be mounted.
    static let canMount = getuid() == 0 && can("full disks", when: ["unshare", "mount"])

    /// Whether the virtual machine with real drivers is available.
    static let hasVirtualMachine: Bool = {
        let part = "tests on real drivers, in a virtual machine"
        guard can(part, when: ["qemu-system-x86_64", "python3"]) else { return false }
        return FileManager.default.fileExists(atPath: "\(cache)/machine/base.cpio")
            || dropFrame(part, "scripts/machine prepare has not built it")
    }()

    /// Whether network namespaces can be created.
    static let hasNamespaces: Bool = {
        let isMade = try? {
            let nothing = try Descriptor.null()
            return try SpawnedProcess(
                "\(BuiltProgram.peers)/namespace.sh", ["pcast-try-\(getpid())", "true"],
                environment: ProcessInfo.processInfo.environment, isApart: false, input: nothing, output: nothing,
                messages: nothing
            ).wait() == .exit(0)
        }()
        if isMade == true { return true }
        return dropFrame("what runs in a sealed network", "making a network namespace needs root or sudo, and iproute2")
    }()

    /// The folder in which scripts install and build programs.
    private static let cache: String = {
        let environment = ProcessInfo.processInfo.environment
        return (environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache") + "/pcast"
    }()

    private static func can(_ part: String, when programs: [String]) -> Bool {
        let missing = programs.filter { BuiltProgram.installed($0) == nil }
        return missing.isEmpty || dropFrame(part, "\(missing.joined(separator: ", ")) is not installed")
    }

    private static func dropFrame(_ part: String, _ reason: String) -> Bool {
        print("left out: \(part): \(reason)")
        return false
    }
}
