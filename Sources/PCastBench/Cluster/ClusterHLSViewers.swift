import Foundation
import PCastCore
import PCastHLS
import PCastIO
import PCastWeb
import Synchronization

/// The viewers of `pcast-bench cluster`.
protocol ClusterViewerGroup: Sendable {
    /// The number of times that a viewer left a node.
    var rejoins: Int { get }

    /// The smallest number of frames or parts of a viewer since `begin()`.
    var fewestFrames: Int { get }

    /// Returns the longest time without video of each viewer since `begin()`; nil for one that never had video.
    func longestGaps() -> [TimeSpan?]

    /// Forgets what was measured until now.
    func begin()

    /// Waits until all viewers receive video.
    ///
    /// - Throws: `BenchFailure` if they do not in time.
    func waitUntilWatching(within limit: TimeSpan) async throws

    /// Watches until the task is cancelled.
    func run() async

    /// Closes the connections.
    func leave()
}

extension ClusterViewers: ClusterViewerGroup {}

/// Viewers by low-latency HLS, which load the multivariant playlist from the next node when a request fails. They begin before
/// the end by `PART-HOLD-BACK`, and load all parts from there on, as a player does. A part counts as a frame when it has
/// arrived.
final class ClusterHLSViewers: ClusterViewerGroup {
    private let endpoint: ClusterEndpoint
    private let homes: Int
    private let gaps: [VideoGap]
    private let rejoinCount = Atomic<Int>(0)
    /// The error of the last attempt to join, for a report that no parts arrive.
    private let lastError = Mutex("none")

    private static let interval = Duration.milliseconds(20)

    /// Creates viewers, which begin at the first nodes, their homes.
    init(_ count: Int, at endpoint: ClusterEndpoint, homes: Int) {
        self.endpoint = endpoint
        self.homes = homes
        gaps = (0..<count).map { _ in VideoGap() }
    }

    var rejoins: Int { rejoinCount.load(ordering: .relaxed) }

    var fewestFrames: Int { gaps.map(\.frames).min() ?? 0 }

    func longestGaps() -> [TimeSpan?] {
        let now = MonotonicClock.now()
        return gaps.map { $0.longest(until: now) }
    }

    func begin() {
        for gap in gaps { gap.begin() }
        rejoinCount.store(0, ordering: .relaxed)
    }

    func waitUntilWatching(within limit: TimeSpan) async throws {
        let end = MonotonicClock.now() + limit
        while gaps.contains(where: { $0.frames == 0 }) {
            guard MonotonicClock.now() < end else {
                let count = gaps.count { $0.frames > 0 }
                let reason = lastError.withLock(\.self)
                throw BenchFailure("only \(count) of \(gaps.count) viewers receive parts; the last error: \(reason)")
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for number in gaps.indices { group.addTask { await self.watch(number) } }
        }
    }

    func leave() {}

    private func watch(_ number: Int) async {
        let gap = gaps[number]
        var node = number % homes
        while !Task.isCancelled {
            // Any error, and the end of a publication, lead to the next node.
            do {
                try await follow(endpoint.nodes[node], gap)
            } catch {
                lastError.withLock { $0 = "\(error)" }
            }
            guard !Task.isCancelled else { return }
            // A viewer without video stays at its node until the stream begins.
            if gap.silence(at: MonotonicClock.now()) != nil {
                rejoinCount.add(1, ordering: .relaxed)
                node = (node + 1) % endpoint.nodes.count
            }
            try? await Task.sleep(for: ClusterEndpoint.retryDelay)
        }
    }

    /// Loads parts from a node until the stream ends there, or a request fails.
    private func follow(_ node: String, _ gap: VideoGap) async throws {
        let encoded = endpoint.token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? endpoint.token
        let index = "\(node)/video/\(endpoint.stream)/index.m3u8?token=\(encoded)"
        guard case .multivariant(let multivariant) = try await playlist(index),
            let variant = multivariant.variants.first(where: { $0.resolution != nil })
        else { throw BenchFailure("\(node) has no variant with video") }
        let uri = URIReference(variant.uri).resolved(against: URIReference(index)).text
        var viewing = HLSViewing(began: MonotonicClock.now())
        var newest = try await media(uri)
        guard newest.isLive else { return }
        // Media of the first version may be those that another node has sent.
        for item in viewing.take(from: newest) { _ = try await load(item, of: uri, &viewing) }
        while newest.isLive {
            let part = Int64(newest.openSegment?.parts.count ?? 0)
            newest = try await media(DeliveryDirectives(segment: newest.nextNumber, part: part).applied(to: uri))
            for item in viewing.take(from: newest) where try await load(item, of: uri, &viewing) {
                gap.receiveFrame(at: MonotonicClock.now())
            }
        }
    }

    /// Loads a part or a segment, and its initialization segment if that is another one. Returns false for a gap, which has no
    /// media.
    private func load(
        _ item: HLSViewing.Item, of playlist: String, _ viewing: inout HLSViewing
    ) async throws -> Bool {
        let base = URIReference(playlist)
        if let section = item.initialization, viewing.needs(section) {
            _ = try await content(URIReference(section.uri).resolved(against: base).text)
        }
        guard let uri = item.uri else { return false }
        _ = try await content(URIReference(uri).resolved(against: base).text)
        return true
    }

    private func media(_ uri: String) async throws -> MediaPlaylist {
        guard case .media(let playlist) = try await playlist(uri) else {
            throw BenchFailure("\(uri) is no media playlist")
        }
        return playlist
    }

    private func playlist(_ uri: String) async throws -> HLSPlaylist {
        try HLSPlaylist(try await content(uri), from: uri)
    }

    private func content(_ uri: String) async throws -> [UInt8] {
        let response = try await HTTPRequests.send("GET", uri, within: ClusterEndpoint.timeout)
        guard response.status == 200 else { throw BenchFailure("the status is \(response.status)") }
        return response.body
    }
}
