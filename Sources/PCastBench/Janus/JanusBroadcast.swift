import Foundation
import PCastCore
import PCastIO
import PCastRTP
import PCastWebRTC

/// Janus with one RTP source and many viewers, for comparison with a `Broadcast` of the same packets to as many
/// viewers.
final class JanusBroadcast: Sendable {
    private let server: JanusServer
    private let feed: LoadLoop<JanusFeed>
    private let viewersLoad: LoadViewers
    private let viewers: Int
    private let rate: Int64
    private static let feedAddress = IPAddress(v4: 0x7F04_0001)
    /// The bytes of a packet from Janus that are not payload: the fixed RTP header (12), the header extensions (12) and
    /// the AEAD tag (16).
    private static let overhead = 12 + 12 + 16

    /// Starts Janus and connects the viewers. One of `decryptsEach` packets is decrypted, see `LightViewer`. Throws
    /// `BenchFailure` if Janus cannot be started, if the viewers do not receive in time, or if another SRTP profile is
    /// used.
    static func start(
        of profile: TrafficProfile, viewers: Int, decryptsEach: Int, isPinned: Bool
    ) async throws -> JanusBroadcast {
        let server = try JanusServer(isPinned: isPinned)
        do {
            let broadcast = try JanusBroadcast(server, profile, viewers: viewers, decryptsEach: decryptsEach)
            try await broadcast.join()
            return broadcast
        } catch {
            server.stop()
            throw error
        }
    }

    private init(_ server: JanusServer, _ profile: TrafficProfile, viewers: Int, decryptsEach: Int) throws {
        self.server = server
        self.viewers = viewers
        rate = profile.rate
        viewersLoad = try LoadViewers(decryptsEach: decryptsEach, firstAddress: IsolatedNetwork.viewersBegin)
        let mountpoint = server.mountpoint
        feed = try LoadLoop(name: "feed") { port in
            JanusFeed(
                profile, from: TransportAddress(ip: Self.feedAddress, port: port), to: mountpoint,
                overhead: Self.overhead, at: MonotonicClock.now())
        }
    }

    private func join() async throws {
        var first: JanusHandle?
        let deadline = MonotonicClock.now() + .seconds(20)
        while first == nil {
            do {
                first = try await JanusHandle(at: server.api)
            } catch {
                guard MonotonicClock.now() < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        await run()
        for number in 0..<viewers {
            let handle: JanusHandle
            if let made = first { handle = made } else { handle = try await JanusHandle(at: server.api) }
            first = nil
            try await viewersLoad.answer(try await handle.watch(), number: number) { try await handle.start($0) }
        }
        try await viewersLoad.waitUntilWatching(viewers, within: .seconds(60))
        let profiles = await viewersLoad.profiles()
        guard profiles == [.aeadAES128GCM] else { throw BenchFailure("Janus uses other SRTP profiles: \(profiles)") }
        await run(false)
    }

    private func run(_ isRunning: Bool = true) async {
        await feed.call { feed, _ in feed.isRunning = isRunning }
    }

    /// Measures one round, as `Broadcast` does for the SFU.
    func measure(seconds: Int) async throws -> FanOutRound {
        await run()
        try await Task.sleep(for: .seconds(1))
        await viewersLoad.begin()
        let (start, load, drops, received) = (MonotonicClock.now(), loadTime, ownDrops, viewersLoad.received)
        let time = server.processorTime
        try await Task.sleep(for: .seconds(seconds))
        let cpuTime = server.processorTime - time
        let elapsed = MonotonicClock.now() - start
        let loadShare = (loadTime - load).seconds / elapsed.seconds
        let perMessage = FanOutRound.perMessage(received, viewersLoad.received)
        let metrics = await viewersLoad.metrics()
        await run(false)
        return FanOutRound(
            processorTime: cpuTime, packets: metrics.packets, missing: metrics.missing + metrics.reordered,
            unauthentic: metrics.rejected, idle: viewers - metrics.watching, ownDrops: ownDrops - drops,
            loadShare: loadShare, perMessage: perMessage, elapsed: elapsed)
    }

    private var loadTime: TimeSpan { viewersLoad.processorTime + feed.processorTime }
    private var ownDrops: Int { viewersLoad.ownDrops + feed.ownDrops }

    func stop() {
        viewersLoad.leave()
        feed.stop()
        server.stop()
    }
}

/// A network namespace without a route to other machines for this process and its children, because Janus announces
/// itself by multicast.
enum IsolatedNetwork {
    private static let mark = "PCAST_BENCH_SEALED"
    private static let device = "pcast0"
    /// The address of an interface that is not loopback, because libnice ignores loopback interfaces. Packets to it
    /// nevertheless use loopback, because it is a local address.
    static let address = "10.77.0.1"
    /// The first of the viewers' addresses, all of which are local (10.78.0.0/16) and on the interface that Janus binds
    /// to.
    static let viewersBegin: UInt32 = 0x0A4E_0001

    /// Executes this program again in a new network namespace; returns if the program already runs in one. Throws
    /// `BenchFailure` without root privileges or if the program cannot be started.
    static func enter() throws {
        guard ProcessInfo.processInfo.environment[mark] == nil else { return }
        guard geteuid() == 0 else {
            throw BenchFailure("Janus needs a network namespace, which requires root: run this as root")
        }
        setenv(mark, "1", 1)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = try SystemProgram.url(of: "unshare").path
        // The interfaces are set up before the program starts, because Foundation's run loops need loopback.
        let words = ["unshare", "--net", "--", "sh", "-c", preparation, own] + CommandLine.arguments.dropFirst()
        var pointers = words.map { strdup($0) } + [nil]
        execv(program, &pointers)
        throw BenchFailure("\(program) cannot be started: \(String(cString: strerror(errno)))")
    }

    private static let preparation = """
        ip link set lo up && ip link add \(device) type veth peer name pcast1 \\
            && ip address add \(address)/32 dev \(device) && ip link set \(device) up && ip link set pcast1 up \\
            && ip route add local 10.78.0.0/16 dev \(device) && exec "$0" "$@"
        """
}

/// Sends the packets of a `TrafficProfile` to Janus as plain RTP, all packets of a frame at the frame's time, as
/// `LightPublisher` does.
struct JanusFeed: ~Copyable, DatagramMachine {
    private let profile: TrafficProfile
    private let path: NetworkPath
    private let begun: Instant
    /// The bytes of a viewer's datagram that are not payload: header, header extensions and AEAD tag.
    private let overhead: Int
    private var frame: Int64 = 0
    private var sequence: UInt16 = 1_000
    private var leaving: ArraySlice<Int> = []
    private var leavesKeyFrame = false
    private var hasBegun = false
    var isRunning = false

    init(
        _ profile: TrafficProfile, from local: TransportAddress, to remote: TransportAddress, overhead: Int,
        at now: Instant
    ) {
        self.profile = profile
        self.overhead = overhead
        path = NetworkPath(local: local, remote: remote)
        begun = now
    }

    private func due(_ frame: Int64) -> Instant { begun + .nanoseconds(frame * 1_000_000_000 / profile.rate) }

    var deadline: Instant? { due(frame) }

    mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {}
    mutating func advance(to now: Instant) {}
    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        if leaving.isEmpty, due(frame) <= now {
            let number = frame
            while due(frame) <= now { frame += 1 }
            guard isRunning else { return false }
            leavesKeyFrame = !hasBegun
            hasBegun = true
            leaving = (leavesKeyFrame ? profile.keyFrame : profile.frames[Int(number) % profile.frames.count])[...]
        }
        while let size = leaving.first {
            guard let buffer = batch.reserve() else { return true }
            leaving.removeFirst()
            batch.commit(length: write(size, into: buffer, at: now), to: path)
        }
        return false
    }

    private mutating func write(_ size: Int, into buffer: MutableByteView, at now: Instant) -> Int {
        let header = RTPHeader(
            marker: leaving.isEmpty, payloadType: JanusServer.payloadType, sequenceNumber: sequence,
            timestamp: UInt32(truncatingIfNeeded: (frame - 1) * 90_000 / profile.rate), ssrc: 0x4A41_4E55)
        sequence &+= 1
        let start = header.write(into: buffer).size
        let payload = max(24, size - overhead)
        LightPublisher.writePayload(
            into: buffer.extracting(start..<start + payload),
            startsKeyFrame: leavesKeyFrame && leaving.count == profile.keyFrame.count - 1, isKeyFrame: leavesKeyFrame,
            at: now)
        return start + payload
    }
}

/// One viewer's signaling with Janus over its HTTP interface: a session, a handle of the streaming plugin, and the
/// offer of the mountpoint.
struct JanusHandle: Sendable {
    private let server: TransportAddress
    private let path: String
    private let session: String

    private struct Request: Encodable {
        struct Body: Encodable {
            var request: String
            var id: Int?
        }

        struct Description: Codable {
            var type: String
            var sdp: String
        }

        var janus: String
        var transaction = "t"
        var plugin: String?
        var body: Body?
        var jsep: Description?
    }

    private struct Reply: Decodable {
        struct Identity: Decodable { var id: UInt64 }
        struct Failure: Decodable { var reason: String }

        var janus: String
        var data: Identity?
        var jsep: Request.Description?
        var error: Failure?
    }

    /// Creates a session and attaches it to the streaming plugin. Throws `BenchFailure` if Janus refuses.
    init(at server: TransportAddress) async throws {
        self.server = server
        session = try await "/janus/\(Self.made(Self.post(Request(janus: "create"), to: "/janus", at: server)))"
        let attach = Request(janus: "attach", plugin: "janus.plugin.streaming")
        path = try await "\(session)/\(Self.made(Self.post(attach, to: session, at: server)))"
    }

    /// Requests the mountpoint and returns Janus' offer. Throws `BenchFailure` if Janus sends none.
    func watch() async throws -> SessionDescription {
        _ = try await Self.post(
            Request(janus: "message", body: Request.Body(request: "watch", id: 1)), to: path, at: server)
        // The long poll returns the events of the session one at a time.
        for _ in 0..<10 {
            let event = try await Self.exchange("GET \(session)?maxev=1", nil, at: server)
            if let offer = event.jsep { return try SessionDescription(parsing: offer.sdp) }
        }
        throw BenchFailure("Janus sent no offer")
    }

    func start(_ answer: SessionDescription) async throws {
        let request = Request(
            janus: "message", body: Request.Body(request: "start"),
            jsep: Request.Description(type: "answer", sdp: answer.text))
        _ = try await Self.post(request, to: path, at: server)
    }

    private static func made(_ answer: Reply) throws -> UInt64 {
        guard let id = answer.data?.id else { throw BenchFailure("Janus answered “\(answer.janus)”") }
        return id
    }

    private static func post(_ request: Request, to path: String, at server: TransportAddress) async throws -> Reply {
        try await exchange("POST \(path)", String(decoding: JSONEncoder().encode(request), as: UTF8.self), at: server)
    }

    private static func exchange(_ line: String, _ body: String?, at server: TransportAddress) async throws -> Reply {
        // HTTP/1.0, so that the response is not chunked.
        var head = ["\(line) HTTP/1.0", "Host: \(server)", "Connection: close"]
        if let body { head += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"] }
        let text = (head + ["", ""]).joined(separator: "\r\n") + (body ?? "")
        let answer = try await WebRTCHTTPRequest.ask(text, of: server)
        let decoded = try? JSONDecoder().decode(Reply.self, from: Data(answer.body.utf8))
        guard let decoded, decoded.error == nil else {
            throw BenchFailure("Janus responded “\(decoded?.error?.reason ?? answer.head[0])” to \(line)")
        }
        return decoded
    }
}
