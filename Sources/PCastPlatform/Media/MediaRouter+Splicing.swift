import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// The forwarding of publishers to the streams of declared names and channels.
extension MediaRouter {
    /// Lets a publisher of a declared stream send all its tracks; see `SFU.watch`.
    func watch(_ stream: StreamID) {
        try? loop(of: stream)?.submit { sfu, now in sfu.watch(stream, at: now) }
    }

    /// A publisher that sends all its tracks to the shard of another stream.
    struct WatchedPublisher: Hashable, Sendable {
        let stream: StreamID
        let peer: PeerID
        fileprivate let shard: Int
    }

    /// Lets a publisher send all its tracks to the shard of another stream, which may receive them. Returns the publisher;
    /// nil if one of the streams has ended.
    func watch(_ source: StreamID, for stream: StreamID) async -> WatchedPublisher? {
        guard let shard = try? await prepare(source, for: stream),
            let peer = try? await loops[shard].call({ sfu, now in sfu.watch(source, at: now) })
        else { return nil }
        return WatchedPublisher(stream: source, peer: peer, shard: shard)
    }

    /// Ends what `watch(_:for:)` began.
    func unwatch(_ watched: WatchedPublisher) {
        try? loops[watched.shard].submit { sfu, now in sfu.unwatch(watched.stream, of: watched.peer, at: now) }
    }

    /// Forwards the media of a publisher to the viewers of another stream; see `SFU.splice`. The publisher may be on another
    /// shard.
    ///
    /// - Throws: `SFUError`.
    func splice(_ source: StreamID, into stream: StreamID) async throws(SFUError) {
        let shard = try await prepare(source, for: stream)
        try await perform(loops[shard]) { sfu, now throws(SFUError) in try sfu.splice(source, into: stream, at: now) }
    }

    /// Forwards nothing more to a stream; see `SFU.unsplice`.
    func unsplice(_ stream: StreamID) async {
        _ = try? await loop(of: stream)?.call { sfu, _ in sfu.unsplice(stream) }
    }

    /// Lets the shard of a stream have another stream, or a replica of it. Returns the number of the shard.
    ///
    /// - Throws: `SFUError`.
    private func prepare(_ source: StreamID, for stream: StreamID) async throws(SFUError) -> Int {
        let (from, to) = capacity.withLock { ($0.shard(of: source), $0.shard(of: stream)) }
        guard let to else { throw .unknownStream(stream) }
        if let from, from != to { try await replicate(source, from: from, to: to) }
        return to
    }

    /// Returns the media of a stream; nil if it has ended.
    func media(of stream: StreamID) async -> IngestMedia? {
        (try? await loop(of: stream)?.call { sfu, _ in sfu.media(of: stream) }) ?? nil
    }

    /// Returns the video of a stream since its newest key frame; see `SFU.lastFrames`.
    func lastFrames(of stream: StreamID, maximumSize: Int) async -> LastFrames? {
        (try? await loop(of: stream)?.call { sfu, _ in sfu.lastFrames(of: stream, maximumSize: maximumSize) }) ?? nil
    }

    /// Requests a key frame of a stream before its newest one is lost; see `SFU.keepLastFrames`.
    func keepLastFrames(of stream: StreamID) {
        try? loop(of: stream)?.submit { sfu, _ in sfu.keepLastFrames(of: stream) }
    }

    /// Returns the arrivals of streams; see `SFU.arrivals`.
    func arrivals(of streams: [StreamID]) async -> [StreamID: SFU.StreamArrivals] {
        let places = capacity.withLock { capacity in
            streams.reduce(into: [Int: [StreamID]]()) { places, stream in
                if let shard = capacity.shard(of: stream) { places[shard, default: []].append(stream) }
            }
        }
        var arrivals: [StreamID: SFU.StreamArrivals] = [:]
        for (shard, streams) in places {
            let found = try? await loops[shard].call { sfu, _ in sfu.arrivals(of: streams) }
            arrivals.merge(found ?? [:]) { $1 }
        }
        return arrivals
    }
}
