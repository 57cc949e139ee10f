import Foundation
import Glibc
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON
import PCastWeb
import PCastWebRTC

/// A platform process on its own CPU, while the load runs on the other. Its per-address limits are raised, because all
/// clients come from this machine.
final class FanOutSetup: Sendable {
    /// The CPU of the platform, and the CPU of everything else.
    static let relayProcessor = 0
    static let loadProcessor = 1
    /// The first addresses of viewers and publishers. Each peer has its own address.
    static let viewersBegin: UInt32 = 0x7F01_0001
    static let publishersBegin: UInt32 = 0x7F02_0001

    let platform: PCastProcess
    let server: TransportAddress
    let uri: String
    /// The port for RTMP; nil if it is not open.
    let rtmpPort: Int?
    private let secret: String
    private static let application = "bench"

    private init(platform: PCastProcess, server: TransportAddress, uri: String, rtmpPort: Int?, secret: String) {
        self.platform = platform
        self.server = server
        self.uri = uri
        self.rtmpPort = rtmpPort
        self.secret = secret
    }

    /// Starts a platform. `options` are additional options of `pcast serve`. With `isPinned`, platform and load each
    /// run on one CPU; otherwise the kernel chooses. `processor` is a CPU for the platform alone if it is not pinned.
    /// `secret` is that of the application, by default a random one.
    static func start(
        _ options: [String] = [], isPinned: Bool = true, processor: Int? = nil, secret: String = randomSecret(),
        environment: [String: String] = [:]
    ) async throws -> FanOutSetup {
        try Descriptors.allowMany()
        if isPinned { try Processor.keepThisProgram(on: loadProcessor) }
        let limits = [
            "sessions-per-address=50000", "streams-per-address=10000", "viewers=50000", "viewers-per-address=50000",
            "viewers-per-application=50000", "connections=50000", "connections-per-address=50000",
            "connections-per-second=50000", "requests-per-second=50000", "joins-per-second=50000",
        ]
        let platform = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0"] + limits.flatMap { ["--limit", $0] } + options,
            environment: environment.merging(["PCAST_SERVE_APPLICATION": "\(application):\(secret)"]) { $1 },
            behind: isPinned ? Processor.prefix(relayProcessor) : processor.map { Processor.prefix($0) } ?? [])
        do {
            let listening = try await platform.next("listening")
            guard case .string(let uri)? = listening["uri"],
                let port = uri.split(separator: ":").last.flatMap({ UInt16($0) })
            else { throw BenchFailure("the platform did not report its address") }
            var rtmpPort: Int?
            if case .number(let number)? = listening["rtmpPort"] { rtmpPort = number.integer.map { Int($0) } }
            return FanOutSetup(
                platform: platform, server: TransportAddress(ip: .loopbackV4, port: port), uri: uri,
                rtmpPort: rtmpPort, secret: secret)
        } catch {
            platform.stop()
            throw error
        }
    }

    /// Returns a secret of 256 random bits.
    static func randomSecret() -> String {
        (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    }

    private var builder: EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(Self.application).withSecret(secret)
            .expiresIn(.seconds(86_400), from: MonotonicClock.wallTime())
    }

    func publishingToken() throws -> String { try builder.forPublishingOnly().build() }
    /// Returns a token for publishing a declared stream.
    func publishingToken(name: String) throws -> String {
        try builder.forPublishingOnly().applyTag("name:\(name)").build()
    }

    /// The value of `Authorization` for the management API.
    var authorization: String { "Basic " + Data("\(Self.application):\(secret)".utf8).base64EncodedString() }

    func authenticationToken() throws -> String { try builder.forAuthenticationOnly().build() }

    func viewingToken(_ stream: StreamID) throws -> String {
        try builder.forOriginStream(stream.description).forStreamingOnly().build()
    }

    /// The CPU time of the platform's process.
    var processorTime: TimeSpan { Processor.time(of: platform.processID) }

    /// Returns the number of media packets that it has sent to viewers. Throws `BenchFailure`.
    func packetsForwarded() async throws -> Int {
        let name = "pcast_packets_forwarded_total "
        let answer = try await HTTPRequests.send("GET", uri + "/metrics")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix(name) }), let count = Double(line.dropFirst(name.count))
        else { throw BenchFailure("/metrics does not have \(name.dropLast()): use a platform of this version") }
        return Int(count)
    }

    var residentMemory: Double { Processor.residentMemory(of: platform.processID) ?? 0 }

    func stop() { platform.stop() }
}

/// The limit of open files and sockets of this process and its children.
enum Descriptors {
    private static let requiredDescriptors: rlim_t = 65_536

    /// Raises the limit. Throws `BenchFailure` if the system does not allow enough for a thousand viewers.
    static func allowMany() throws {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(files, &limit)
        guard limit.rlim_cur < requiredDescriptors else { return }
        limit.rlim_max = max(limit.rlim_max, requiredDescriptors)
        limit.rlim_cur = requiredDescriptors
        if setrlimit(files, &limit) == 0 { return }
        getrlimit(files, &limit)
        limit.rlim_cur = min(requiredDescriptors, limit.rlim_max)
        guard setrlimit(files, &limit) == 0, limit.rlim_cur >= 4_096 else {
            throw BenchFailure("this needs more open files than the system allows: raise “ulimit -n”")
        }
    }
}
