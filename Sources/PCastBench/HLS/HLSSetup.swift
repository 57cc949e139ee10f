import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON
import PCastRendering
import Synchronization

/// A platform, a publisher of the test pattern with 1280x720 at 30 frames per second, and a viewer, each in its own
/// process. With the viewer, the publisher sends also when the stream is not packaged.
struct HLSSetup: Sendable {
    /// The address of the stream's multivariant playlist.
    let uri: String
    private let platform: PCastProcess
    private let publisher: PCastProcess
    private let viewer: PCastProcess

    private static let application = "bench"

    /// Starts a platform and a publisher.
    ///
    /// - Parameter isPackaged: Whether the stream is packaged for HLS.
    /// - Returns: The processes, when media flows.
    /// - Throws: `BenchFailure` if one of them does not start.
    static func start(isPackaged: Bool) async throws -> HLSSetup {
        let secret = (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
        let platform = try PCastProcess(
            [
                "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--limit", "connections-per-second=100000",
                "--limit", "connections-per-address=20000",
            ] + (isPackaged ? ["--hls"] : []),
            environment: ["PCAST_SERVE_APPLICATION": "\(application):\(secret)"])
        do {
            guard case .string(let uri)? = try await platform.next("listening")["uri"] else {
                throw BenchFailure("the platform did not report its address")
            }
            let token = try EdgeTokenBuilder().withApplicationId(application).withSecret(secret)
                .expiresIn(.seconds(86_400), from: MonotonicClock.wallTime()).forPublishingOnly().build()
            let publisher = try PCastProcess(
                [
                    "publish", "--uri", uri, "--video", "synthetic", "--size", "1280x720", "--fps", "30", "--audio",
                    "synthetic",
                ], environment: ["PCAST_PUBLISH_TOKEN": token])
            do {
                guard case .string(let stream)? = try await publisher.next("publishing")["streamId"] else {
                    throw BenchFailure("the publisher did not report its stream")
                }
                let viewer = try await Self.view(stream, at: uri)
                return HLSSetup(
                    uri: "\(uri)/video/\(stream)/index.m3u8", platform: platform, publisher: publisher, viewer: viewer)
            } catch {
                publisher.stop()
                throw error
            }
        } catch {
            platform.stop()
            throw error
        }
    }

    /// Starts a viewer, which needs no token on this host.
    private static func view(_ stream: String, at uri: String) async throws -> PCastProcess {
        let viewer = try PCastProcess(["subscribe", "--uri", uri, "--stream", stream, "--render", "null"])
        do {
            _ = try await viewer.next("firstFrame")
            return viewer
        } catch {
            viewer.stop()
            throw error
        }
    }

    /// Returns the share of a core that the platform uses in some seconds.
    func processorShare(seconds: Int) async throws -> Double {
        let (time, start) = (Processor.time(of: platform.processID), MonotonicClock.now())
        try await Task.sleep(for: .seconds(seconds))
        let used = Processor.time(of: platform.processID) - time
        return used.seconds / (MonotonicClock.now() - start).seconds
    }

    /// Requests one address of the platform many times over 16 connections.
    ///
    /// - Parameters:
    ///   - target: The address and the range of bytes.
    ///   - count: The number of requests.
    ///   - share: The share of a core that the platform uses without the requests.
    /// - Returns: The cost of a request.
    /// - Throws: `BenchFailure` if a request fails.
    func requestCost(of target: RequestTarget, count: Int, share: Double) async throws -> RequestCost {
        try await target.cost(count: count, server: platform.processID, share: share)
    }

    func stop() {
        viewer.stop()
        publisher.stop()
        platform.stop()
    }
}

/// An invisible render surface that measures the time from the capture of a frame of the test pattern until it is shown.
final class LatencySurface: RenderSurface {
    private struct State {
        /// The latencies in milliseconds.
        var latencies: [Double] = []
        var statistics = SurfaceStatistics()
    }

    /// The capture time in a frame has 40 bits.
    private static let mask: Int64 = (1 << 40) - 1
    /// The maximum number of latencies: an hour at 60 frames per second.
    private static let limit = 216_000

    private let state = Mutex(State())
    private let surfaceEvents = SurfaceEvents()
    private let arranged = Mutex(FrameArrangement())

    init(_ dimensions: Dimensions) { surfaceEvents.notify(.ready(dimensions)) }

    func show(_ frame: VideoFrame) {
        let now = MonotonicClock.wallTime()
        guard let stamp = TestPatternStrip.read(frame) else { return }
        let latency = ((now.millisecondsSinceEpoch & Self.mask) - stamp.milliseconds) & Self.mask
        state.withLock { state in
            state.statistics.framesShown += 1
            if state.latencies.count < Self.limit { state.latencies.append(Double(latency)) }
        }
    }

    var arrangement: FrameArrangement {
        get { arranged.withLock { $0 } }
        set { arranged.withLock { $0 = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    var events: AsyncStream<SurfaceEvent> { surfaceEvents.read() }

    /// The latencies so far, in milliseconds.
    var latencies: [Double] { state.withLock { $0.latencies } }
}
