import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON
import PCastRendering
import PCastWeb
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
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0"] + (isPackaged ? ["--hls"] : []),
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

/// Viewers that only reload a media playlist, as players do at the live edge.
struct ReloadingViewers: Sendable {
    /// A part: the number of its segment and its index.
    private struct Part: Hashable, Sendable {
        let segment: Int64
        let index: Int64

        /// Finds the next part in the preload hint of a playlist; nil if there is none.
        init?(hintIn text: String) {
            guard let hint = text.range(of: "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"", options: .backwards) else {
                return nil
            }
            let name = text[hint.upperBound...].prefix { $0 != "\"" }.split(separator: "-").last ?? ""
            let fields = name.split(separator: ".")
            guard fields.count == 3, let segment = Int64(fields[0]), let index = Int64(fields[1]) else { return nil }
            (self.segment, self.index) = (segment, index)
        }
    }

    /// The results of all viewers.
    struct Metrics: Sendable {
        /// The times from the first answer with a part to each other answer with it, in milliseconds.
        var delays: [Double] = []
        var failures = 0
    }

    private struct Answer: Sendable {
        let part: Part
        let moment: Instant
    }

    /// The address of the media playlist.
    let uri: String
    let count: Int

    /// Runs all viewers for some seconds. The first two answers of each are left out, because viewers join one after the
    /// other.
    func run(seconds: Int) async -> Metrics {
        let pool = HTTPRequests.ConnectionPool(connections: count)
        let end = MonotonicClock.now() + .seconds(Int64(seconds))
        var answers: [[Answer]] = []
        var metrics = Metrics()
        await withTaskGroup(of: [Answer]?.self) { group in
            for _ in 0..<count { group.addTask { await view(pool, until: end) } }
            for await seen in group {
                if let seen { answers.append(Array(seen.dropFirst(2))) } else { metrics.failures += 1 }
            }
        }
        await pool.close()
        var first: [Part: Instant] = [:]
        for answer in answers.joined() { first[answer.part] = min(first[answer.part] ?? answer.moment, answer.moment) }
        for answer in answers.joined() {
            guard let earliest = first[answer.part] else { continue }
            metrics.delays.append((answer.moment - earliest).seconds * 1_000)
        }
        return metrics
    }

    /// Reloads until a time. Returns nil after a failure.
    private func view(_ pool: HTTPRequests.ConnectionPool, until end: Instant) async -> [Answer]? {
        var answers: [Answer] = []
        var query = ""
        while MonotonicClock.now() < end {
            guard let response = try? await pool.get(uri + query), response.status == 200,
                let part = Part(hintIn: String(decoding: response.body, as: UTF8.self))
            else { return nil }
            answers.append(Answer(part: part, moment: MonotonicClock.now()))
            query = "?_HLS_msn=\(part.segment)&_HLS_part=\(part.index)"
        }
        return answers
    }
}
