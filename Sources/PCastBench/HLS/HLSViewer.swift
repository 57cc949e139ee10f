import PCastCore
import PCastHLS
import PCastIO
import PCastWeb

/// A viewer of any HLS server that loads all media of one variant as a player does, but decodes nothing.
struct HLSViewer: Sendable {
    /// The results of a viewer.
    struct Metrics: Sendable {
        /// The versions of the media playlist.
        var playlists = 0
        /// The loaded parts and segments, and their size with that of the initialization segments.
        var media = 0
        var bytes = 0
        /// The time from the first request until the first part or segment has been loaded.
        var firstMedia: TimeSpan?
        var stalls = 0
        var stalled = TimeSpan.zero
        /// The reason for which the viewer ended early; nil if it did not.
        var failure: String?
    }

    /// The URI of the multivariant playlist, whose first variant is loaded, or of a media playlist.
    let uri: String
    let connections: HTTPRequests.ConnectionPool

    /// Watches until a time, or until the end of the stream.
    func run(until end: Instant) async -> Metrics {
        var viewing = HLSViewing(began: MonotonicClock.now())
        do {
            let address = try await mediaPlaylistURI()
            var playlist = try await playlist(address)
            viewing.metrics.playlists = 1
            while true {
                for item in viewing.take(from: playlist) {
                    guard MonotonicClock.now() < end else { return viewing.metrics }
                    try await load(item, from: address, &viewing)
                }
                guard playlist.isLive, MonotonicClock.now() < end else { return viewing.metrics }
                playlist = try await next(playlist, address)
                viewing.metrics.playlists += 1
            }
        } catch {
            viewing.metrics.failure = "\(error)"
        }
        return viewing.metrics
    }

    private func mediaPlaylistURI() async throws -> String {
        guard case .multivariant(let playlist) = try await load(uri) else { return uri }
        guard let variant = playlist.variants.first else { throw BenchFailure("\(uri) has no variants") }
        return URIReference(variant.uri).resolved(against: URIReference(uri)).text
    }

    private func load(_ uri: String) async throws -> HLSPlaylist {
        do {
            return try HLSPlaylist(try await content(uri), from: uri)
        } catch let error as PlaylistError {
            throw BenchFailure("\(uri) is no playlist: \(error)")
        }
    }

    private func playlist(_ uri: String) async throws -> MediaPlaylist {
        guard case .media(let playlist) = try await load(uri) else { throw BenchFailure("\(uri) is no media playlist") }
        return playlist
    }

    /// Loads the version after one, by a blocking reload if the server supports it.
    private func next(_ playlist: MediaPlaylist, _ uri: String) async throws -> MediaPlaylist {
        guard playlist.serverControl.canBlockReload else {
            try await Task.sleep(for: .nanoseconds(playlist.targetDuration.nanoseconds / 2))
            return try await self.playlist(uri)
        }
        let part = playlist.partTargetDuration.map { _ in Int64(playlist.openSegment?.parts.count ?? 0) }
        return try await self.playlist(
            DeliveryDirectives(segment: playlist.nextNumber, part: part).applied(to: uri))
    }

    private func load(_ item: HLSViewing.Item, from playlist: String, _ viewing: inout HLSViewing) async throws {
        let base = URIReference(playlist)
        if let section = item.initialization, viewing.needs(section) {
            let uri = URIReference(section.uri).resolved(against: base).text
            viewing.metrics.bytes += try await content(uri, section.byteRange).count
        }
        var size = 0
        if let uri = item.uri {
            size = try await content(URIReference(uri).resolved(against: base).text, item.byteRange).count
        }
        viewing.loaded(item, size: size, at: MonotonicClock.now())
    }

    private func content(_ uri: String, _ range: ByteRange? = nil) async throws -> [UInt8] {
        let headers = range.map { [("Range", "bytes=\($0.offset)-\($0.offset + $0.length - 1)")] } ?? []
        let response = try await connections.get(uri, headers: headers)
        guard response.status == (range == nil ? 200 : 206) else {
            throw BenchFailure("\(uri) was answered with status \(response.status)")
        }
        return response.body
    }
}

/// The position of a viewer in a media playlist, and the model of its playback: it begins with the first loaded media, and
/// stalls while everything that was loaded has been played.
struct HLSViewing {
    /// A part or a whole segment.
    struct Item: Equatable {
        /// Nil for a gap, which is not requested.
        var uri: String?
        var byteRange: ByteRange?
        var duration: TimeSpan
        var initialization: MediaInitialization?
    }

    private struct Position: Comparable {
        var segment: Int64
        var part: Int

        static func < (one: Position, other: Position) -> Bool { (one.segment, one.part) < (other.segment, other.part) }
    }

    var metrics = HLSViewer.Metrics()
    private let began: Instant
    private var position: Position?
    private var initialization: MediaInitialization?
    /// The time at which playback would have begun if it had never stalled, and the duration of what was loaded.
    private var start: Instant?
    private var loaded = TimeSpan.zero

    init(began: Instant) { self.began = began }

    /// Returns whether an initialization segment must be loaded because it differs from the last one.
    mutating func needs(_ section: MediaInitialization) -> Bool {
        defer { initialization = section }
        return initialization != section
    }

    /// Returns what a version of the playlist has after the position, and advances the position. The first one is at the
    /// server's hold-back from the end, or at the beginning of a playlist that has ended.
    mutating func take(from playlist: MediaPlaylist) -> [Item] {
        let items = Self.items(of: playlist)
        let first = position ?? Self.beginning(in: items, of: playlist)
        position = Position(
            segment: playlist.nextNumber, part: playlist.openSegment.map(\.parts.count) ?? 0)
        return items.filter { $0.position >= first }.map(\.item)
    }

    private typealias Entry = (position: Position, isIndependent: Bool, item: Item)

    private static func items(of playlist: MediaPlaylist) -> [Entry] {
        (playlist.segments + (playlist.openSegment.map { [$0] } ?? [])).flatMap { segment -> [Entry] in
            guard !segment.parts.isEmpty else {
                guard segment.number < playlist.nextNumber else { return [] }
                let item = Item(
                    uri: segment.isGap ? nil : segment.uri, byteRange: segment.byteRange, duration: segment.duration,
                    initialization: segment.initialization)
                return [(Position(segment: segment.number, part: 0), true, item)]
            }
            return segment.parts.enumerated().map { index, part in
                let item = Item(
                    uri: part.isGap || segment.isGap ? nil : part.uri, byteRange: part.byteRange,
                    duration: part.duration, initialization: segment.initialization)
                return (Position(segment: segment.number, part: index), part.isIndependent, item)
            }
        }
    }

    private static func beginning(in items: [Entry], of playlist: MediaPlaylist) -> Position {
        let control = playlist.serverControl
        let holdBack =
            playlist.partTargetDuration.flatMap { control.partHoldBack ?? $0 * 3 } ?? control.holdBack
            ?? playlist.targetDuration * 3
        var distance = TimeSpan.zero
        if playlist.isLive {
            for entry in items.reversed() {
                distance += entry.item.duration
                if distance >= holdBack, entry.isIndependent { return entry.position }
            }
        }
        return items.first?.position ?? Position(segment: playlist.nextNumber, part: 0)
    }

    /// Counts an item that has been loaded.
    mutating func loaded(_ item: Item, size: Int, at now: Instant) {
        metrics.bytes += size
        if item.uri != nil { metrics.media += 1 }
        if let start, now - start > loaded {
            let stall = now - start - loaded
            metrics.stalls += 1
            metrics.stalled += stall
            self.start = start + stall
        }
        if start == nil {
            start = now
            metrics.firstMedia = now - began
        }
        loaded += item.duration
    }
}
