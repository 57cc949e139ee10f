import Foundation
import PCastCore

/// Debian's Janus as a child process with the streaming plugin, one H.264 mountpoint and the HTTP interface only.
///
/// Two event loops serve all viewers, which is the faster setting, and Janus is ICE-lite as the platform is. The
/// viewers select the SRTP profile, because they answer as DTLS servers.
final class JanusServer: Sendable {
    static var isInstalled: Bool { root != nil }

    /// The prefix of the installed package, or of the copy that `scripts/peers` unpacked without starting the service;
    /// nil if there is neither.
    private static var root: String? {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return ["/usr", "\(cache)/pcast/janus/usr"].first {
            FileManager.default.isExecutableFile(atPath: "\($0)/bin/janus")
        }
    }

    let api = TransportAddress(ip: .loopbackV4, port: 18_088)
    /// The address at which the mountpoint receives RTP.
    let mountpoint = TransportAddress(ip: .loopbackV4, port: 15_004)
    static let payloadType: UInt8 = 96
    private let process = Process()
    private let folder: URL

    /// Starts Janus, with `isPinned` on the processor core on which the platform would run. Throws `BenchFailure` if
    /// Janus is not installed, or the error of the start.
    init(isPinned: Bool) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-janus-\(getpid())")
        guard let root = Self.root else { throw BenchFailure("Janus is not installed: run scripts/peers") }
        try Self.write(to: folder, libraries: "\(root)/lib/x86_64-linux-gnu/janus", api: api, mountpoint: mountpoint)
        let program = URL(fileURLWithPath: "\(root)/bin/janus")
        let prefix = isPinned ? Processor.prefix(FanOutSetup.relayProcessor) : []
        process.executableURL = try prefix.first.map { try SystemProgram.url(of: $0) } ?? program
        process.arguments = (prefix.isEmpty ? [] : prefix.dropFirst() + [program.path]) + ["-F", folder.path]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    private static func write(
        to folder: URL, libraries: String, api: TransportAddress, mountpoint: TransportAddress
    ) throws {
        let files = FileManager.default
        // Only the plugin and the transport in use are loaded.
        for (name, library) in [("plugins", "libjanus_streaming.so"), ("transports", "libjanus_http.so")] {
            let path = folder.appendingPathComponent(name)
            try files.createDirectory(at: path, withIntermediateDirectories: true)
            try files.createSymbolicLink(
                atPath: path.appendingPathComponent(library).path,
                withDestinationPath: "\(libraries)/\(name)/\(library)")
        }
        try files.createDirectory(at: folder.appendingPathComponent("none"), withIntermediateDirectories: true)
        let configurations = [
            "janus": """
            general: {
                configs_folder = "\(folder.path)"
                plugins_folder = "\(folder.path)/plugins"
                transports_folder = "\(folder.path)/transports"
                events_folder = "\(folder.path)/none"
                loggers_folder = "\(folder.path)/none"
                debug_level = 2
                session_timeout = 0
                event_loops = 2
            }
            nat: { ice_lite = true; ice_enforce_list = "\(IsolatedNetwork.address)" }
            """,
            "janus.transport.http": """
            general: { json = "compact"; base_path = "/janus"; http = true; port = \(api.port); ip = "\(api.ip)" }
            """,
            "janus.plugin.streaming": """
            fanout: {
                type = "rtp"; id = 1; audio = false; video = true; videoport = \(mountpoint.port)
                videopt = \(payloadType); videocodec = "h264"
                videofmtp = "profile-level-id=42e01f;packetization-mode=1"
            }
            """,
        ]
        for (name, text) in configurations {
            try text.write(
                to: folder.appendingPathComponent("\(name).jcfg"), atomically: false, encoding: .utf8)
        }
    }

    var processID: Int32 { process.processIdentifier }

    /// The CPU time of the process so far.
    var processorTime: TimeSpan { Processor.time(of: processID) }

    func stop() {
        // SIGKILL, because a regular shutdown would notify each viewer first.
        kill(processID, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
