import Foundation
import PCastIO

/// What can be run on this machine. What cannot is said once, for `scripts/test` to collect.
enum ThisMachine {
    /// The end-to-end tests in their full length.
    static let isFull = ProcessInfo.processInfo.environment["PCAST_FULL"] == "1"

    static let hasFFmpeg = can("the film and recordings", when: ["ffmpeg", "ffprobe"])

    static let hasChromium = can("Chromium", when: ["chromium", "python3"])

    /// Firefox, and what drives it.
    static let hasFirefox: Bool = {
        guard can("Firefox", when: ["firefox-esr"]) else { return false }
        return FileManager.default.isExecutableFile(atPath: "\(cache)/peers/bin/python")
            || leaveOut("Firefox", "scripts/peers has not installed the Python package websockets")
    }()

    /// Files of Phenix's public Web SDK, which is not a part of this project: several versions with colons between.
    static let webSDKs: [String] = {
        let variable = "PCAST_PHENIX_WEB_SDK"
        let paths = (ProcessInfo.processInfo.environment[variable] ?? "").split(separator: ":").map(String.init)
        if paths.isEmpty { _ = leaveOut("Phenix's Web SDK", "\(variable) names no file phenix-web-sdk.js") }
        return paths
    }()

    static let hasNode = can("the module's gate outside a browser", when: ["node"])

    static let hasTypeScript = can("the module's types", when: ["tsc"])

    /// Browsers that can be driven.
    static let browsers = (hasChromium ? ["chromium"] : []) + (hasFirefox ? ["firefox"] : [])

    /// aiortc, GStreamer and FFmpeg 9, in a network namespace.
    static let hasPeers: Bool = {
        guard can("aiortc, GStreamer and FFmpeg as peers", when: ["ip", "gst-launch-1.0", "python3"]) else {
            return false
        }
        guard FileManager.default.isExecutableFile(atPath: "\(cache)/peers/bin/python") else {
            return leaveOut("aiortc, GStreamer and FFmpeg as peers", "scripts/peers has not installed them")
        }
        return hasNamespaces
    }()

    /// What checks an interface against its description; nil where it is not installed.
    static let schemathesis: String? = {
        let path = "\(cache)/checkers/bin/schemathesis"
        if FileManager.default.isExecutableFile(atPath: path) { return path }
        _ = leaveOut("schemathesis", "scripts/peers has not installed it")
        return nil
    }()

    /// The public EdgeAuth library.
    static let hasEdgeAuth =
        FileManager.default.isExecutableFile(atPath: "\(cache)/peers/bin/edgeauth")
        || leaveOut("tokens of the public EdgeAuth library", "scripts/peers has not installed it")

    /// Programs in Python that need nothing beside it.
    static let hasPython = can("backends in Python", when: ["python3"])

    /// Disks of a few pages can be made.
    static let canMount = getuid() == 0 && can("full disks", when: ["unshare", "mount"])

    /// The virtual machine with real drivers.
    static let hasVirtualMachine: Bool = {
        let part = "tests on real drivers, in a virtual machine"
        guard can(part, when: ["qemu-system-x86_64", "python3"]) else { return false }
        return FileManager.default.fileExists(atPath: "\(cache)/machine/base.cpio")
            || leaveOut(part, "scripts/machine prepare has not built it")
    }()

    /// Network namespaces can be made.
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
        return leaveOut("what runs in a sealed network", "making a network namespace needs root or sudo, and iproute2")
    }()

    /// Where scripts keep what they install and build.
    private static let cache: String = {
        let environment = ProcessInfo.processInfo.environment
        return (environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache") + "/pcast"
    }()

    private static func can(_ part: String, when programs: [String]) -> Bool {
        let missing = programs.filter { BuiltProgram.installed($0) == nil }
        return missing.isEmpty || leaveOut(part, "\(missing.joined(separator: ", ")) is not installed")
    }

    private static func leaveOut(_ part: String, _ reason: String) -> Bool {
        print("left out: \(part): \(reason)")
        return false
    }
}
