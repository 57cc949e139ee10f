import Foundation
import PCastCore
import PCastIO
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
        let timeout = MonotonicClock.now() + .seconds(20)
        while first == nil {
            do {
                first = try await JanusHandle(at: server.api)
            } catch {
                guard MonotonicClock.now() < timeout else { throw error }
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
        try await viewersLoad.watching(viewers, within: .seconds(60))
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
        let figures = await viewersLoad.figures()
        await run(false)
        return FanOutRound(
            processorTime: cpuTime, packets: figures.packets, missing: figures.missing + figures.reordered,
            unauthentic: figures.rejected, idle: viewers - figures.watching, ownDrops: ownDrops - drops,
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
