public import PCast
public import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// The content of a presentation in HTTP Live Streaming (RFC 8216 and RFC 8216bis): on demand, live with a window for
/// seeks, and with low latency by partial segments.
///
/// It loads 30 s of audio and video and 60 s of subtitles ahead, and keeps 10 s behind. The encoded data is limited to
/// 48 MiB for video, 8 MiB for an audio rendition and 1 MiB for subtitles. A segment may have 64 MiB, and a playlist 16
/// MiB.
public final class HLSContent: PlaybackContent, @unchecked Sendable {
    // All properties without a mutex are used only by the thread that reads.

    /// The configuration of a presentation.
    public struct Configuration: Hashable, Sendable {
        /// The rule that replaces the addresses of playlists; nil for none.
        public var mapping: StreamingSourceMapping?
        /// The maximum peak bitrate of a variant; nil for no limit.
        public var bitrateCeiling: Bitrate?
        /// The maximum time without data of a segment.
        public var timeout: Duration
        /// The time from capture at which frames of a live presentation are displayed (synchronized playout); nil to play
        /// as near to the live edge as possible.
        ///
        /// All players with the same delay show the same frame at the same time, if their clocks agree. The playlist must
        /// state times of capture (`EXT-X-PROGRAM-DATE-TIME`). A delay that is less than the server's hold-back from the
        /// live edge has no effect. A pause or a seek by the user ends the synchronization, and a seek to the end of the
        /// seekable range begins it again. The maximum is one hour.
        public var playoutDelay: Duration?

        /// The maximum of ``playoutDelay``.
        private static let maximumDelay = Duration.seconds(3_600)

        /// The playout delay within its limits.
        var boundedDelay: TimeSpan? {
            playoutDelay.map { TimeSpan(min(max($0, .zero), Self.maximumDelay)) }
        }

        /// Creates a configuration.
        public init(
            mapping: StreamingSourceMapping? = nil, bitrateCeiling: Bitrate? = nil, timeout: Duration = .seconds(10),
            playoutDelay: Duration? = nil
        ) {
            (self.mapping, self.bitrateCeiling, self.timeout) = (mapping, bitrateCeiling, timeout)
            self.playoutDelay = playoutDelay
        }
    }

    /// The state that other threads may read.
    private struct Known {
        var loader: RenditionLoader
        var loaders: [RenditionLoader]
        var tracks: [ContentTrack]
        var selected: Set<ContentTrack.ID>
        var anchors: [TimecodeAnchor]
        var start: StartPoint?
    }

    private let address: ContentAddress
    private let uri: String
    private let configuration: Configuration
    private let fetcher: HLSFetcher
    private let wait = ReaderWait()
    private let known = Mutex<Known?>(nil)
    private var session: HLSReading?
    private var reportedOverview: ContentOverview?
    private var reportedVersion = -1
    /// Whether the address is that of a multivariant playlist.
    private var isMultivariant = false
    /// The time at which the multivariant playlist was last loaded again; nil for never.
    private var reopenedAt: Instant?

    /// The minimum time after which the multivariant playlist is loaded again another time.
    private static let reopeningInterval = TimeSpan.seconds(10 as Int64)

    /// Creates content that is not open. `address` is a path, or has the scheme file, http or https.
    package init(_ address: String, configuration: Configuration = Configuration()) {
        let named = ContentAddress(address)
        self.address = named
        uri = named.fileURI ?? configuration.mapping?.apply(to: address) ?? address
        self.configuration = configuration
        fetcher = HLSFetcher(timeout: configuration.timeout, readsFiles: named.kind == .file)
    }

    deinit { session?.stop() }

    /// The properties of the presentation; nil before its playlist is loaded.
    package var overview: ContentOverview? {
        guard let known = known.withLock({ $0 }), let timeline = known.loader.timeline else { return nil }
        let usesParts = timeline.playlist.partTargetDuration != nil
        var anchors = TimecodeAnchors.ofDates(timeline)
        let playoutDelay = timeline.playlist.isLive && !anchors.isEmpty ? configuration.boundedDelay : nil
        anchors += known.anchors
        if anchors.isEmpty { anchors = known.loader.edgeAnchors }
        return ContentOverview(
            kind: timeline.playlist.isLive ? .live : .onDemand, tracks: known.tracks, selected: known.selected,
            duration: timeline.duration, seekableRange: timeline.seekableRange(usingParts: usesParts),
            anchors: anchors.sorted { $0.position < $1.position },
            liveEdge: timeline.playlist.isLive ? timeline.holdBack(usingParts: usesParts) : nil,
            isLowLatency: timeline.playlist.isLive && usesParts,
            startsAtLiveEdge: timeline.playlist.isLive && timeline.playlist.start == nil && known.start == nil,
            playoutDelay: playoutDelay,
            encoderClockDifference: known.loader.encoderClock.flatMap { $0.isOff ? $0.difference : nil })
    }

    /// The end of the audio and video that are loaded; nil before.
    package var bufferedPosition: TimeSpan? {
        known.withLock { $0 }?.loaders.prefix(2).compactMap(\.loadedEnd).min()
    }

    /// Loads the playlists and the first segment. Throws a ``PlaybackError`` if this fails.
    package func open() throws(PlaybackError) -> TimeSpan {
        guard address.kind != nil else { throw .unsupportedAddress(address.name) }
        let (playlist, base) = try loadPlaylist()
        var first: (MediaPlaylist, base: String)?
        let presentation: HLSPresentation
        switch playlist {
        case .media(let media):
            first = (media, base)
            presentation = HLSPresentation(mediaPlaylistAt: base)
            isMultivariant = false
        case .multivariant(let multivariant):
            guard let offered = self.presentation(multivariant, base) else {
                throw .notPlayable(address.name, reason: "it has no variant that can be decoded")
            }
            (presentation, isMultivariant) = (offered, true)
        }
        let session = HLSReading(presentation, name: address.name, fetcher: fetcher, wait: wait, first: first)
        self.session?.stop()
        self.session = session
        let start = try session.open(playoutDelay: configuration.boundedDelay)
        publish(session)
        reportedOverview = overview
        return start
    }

    /// Returns the presentation of a multivariant playlist; nil if no variant can be decoded.
    private func presentation(_ playlist: MultivariantPlaylist, _ base: String) -> HLSPresentation? {
        HLSPresentation(
            playlist, base: URIReference(base),
            configuration: VariantChoice.Configuration(ceiling: configuration.bitrateCeiling))
    }

    /// Loads the multivariant playlist of a live presentation again after all addresses of a rendition have failed, because
    /// they may have expired or been replaced. Returns whether playback continues with it. Throws a ``PlaybackError`` after
    /// an interruption only.
    private func reopen(_ former: HLSReading) throws(PlaybackError) -> Bool {
        guard isMultivariant, reopenedAt.map({ MonotonicClock.now() - $0 >= Self.reopeningInterval }) ?? true,
            let timeline = former.loader.timeline, timeline.playlist.isLive
        else { return false }
        var session: HLSReading?
        do throws(PlaybackError) {
            let (playlist, base) = try loadPlaylist()
            guard case .multivariant(let multivariant) = playlist, let offered = presentation(multivariant, base) else {
                return false
            }
            let other = HLSReading(
                offered, name: address.name, fetcher: fetcher, wait: wait, first: nil, alignedWith: timeline)
            session = other
            _ = try other.open()
            try other.select(like: former)
            if let start = other.loader.timeline?.start, former.end >= start { _ = other.seek(to: former.end) }
            reopenedAt = MonotonicClock.now()
            former.stop()
            self.session = other
            publish(other)
            reportedVersion = -1
            return true
        } catch {
            session?.stop()
            if error == .interrupted { throw error }
            return false
        }
    }

    /// Updates the state that other threads may read.
    private func publish(_ session: HLSReading) {
        let selected = session.selected.map { HLSReading.id($0.key, $0.value) }
        let value = Known(
            loader: session.loader, loaders: session.loaders, tracks: session.tracks, selected: Set(selected),
            anchors: session.anchors.all, start: session.presentation.start)
        known.withLock { $0 = value }
    }

    /// Returns the next item; nil at the end. Throws a ``PlaybackError`` if the presentation fails.
    package func read() throws(PlaybackError) -> ContentItem? {
        try checkInterruption()
        guard let session else { return nil }
        if let overview = changedOverview(session) { return .overview(overview) }
        do throws(PlaybackError) { return try session.next() } catch {
            guard error != .interrupted, try reopen(session) else { throw error }
            return try read()
        }
    }

    /// Returns the properties if they changed since they were delivered; nil otherwise.
    private func changedOverview(_ session: HLSReading) -> ContentOverview? {
        let version = session.loader.version &+ session.anchors.version
        guard version != reportedVersion else { return nil }
        reportedVersion = version
        publish(session)
        let overview = overview
        guard overview != reportedOverview else { return nil }
        reportedOverview = overview
        return overview
    }

    /// Seeks to a position, clamped to the seekable range. Throws ``PlaybackError/notSeekable`` before the content is
    /// open.
    package func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        try checkInterruption()
        guard let session, let range = overview?.seekableRange else { throw .notSeekable }
        return session.seek(to: min(max(position, range.lowerBound), range.upperBound))
    }

    /// Selects a track of a kind, or none if `track` is nil. Throws ``PlaybackError/noTrack(_:)`` if there is no such
    /// track.
    package func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        try checkInterruption()
        guard let session else { throw .noTrack(track?.rawValue ?? "") }
        var index: Int?
        if let track {
            let offered = session.tracks.filter { $0.kind == kind }
            index = offered.firstIndex { $0.id == track }
            if index == nil { throw .noTrack(track.rawValue) }
        }
        try session.select(index, of: kind)
        publish(session)
        reportedVersion = -1
    }

    /// Throws `interrupted` if there was an interruption.
    private func checkInterruption() throws(PlaybackError) { if wait.takeInterruption() { throw .interrupted } }

    /// Interrupts the current call or the next one.
    package func interrupt() { wait.interrupt() }

    /// Ends all transfers.
    package func close() {
        session?.stop()
        session = nil
    }

    /// Loads the playlist at the address, and returns it with the address from which it came.
    private func loadPlaylist() throws(PlaybackError) -> (HLSPlaylist, base: String) {
        let answer = LoadResult()
        let (fetcher, uri, wait) = (fetcher, uri, wait)
        let task = Task {
            let result: Result<(HLSPlaylist, base: String), LoadFailure>
            do throws(LoadFailure) {
                let (bytes, base) = try await fetcher.get(uri, limit: Int64(PlaylistLimits.textSize))
                do throws(PlaylistError) {
                    result = .success((try HLSPlaylist(bytes, from: base), base))
                } catch { result = .failure(LoadFailure(failure: .unreadable(error), reason: "\(error)")) }
            } catch { result = .failure(error) }
            answer.resolve(result)
            wait.raise()
        }
        // The total time is limited too, because a server may send single bytes for ever.
        let alarm = Task { [timeout = configuration.timeout] in
            guard (try? await Task.sleep(for: timeout * 3)) != nil else { return }
            answer.resolve(.failure(LoadFailure(failure: .timeout, reason: "its end is never reached")))
            task.cancel()
            wait.raise()
        }
        defer { alarm.cancel() }
        guard let result = wait.wait(for: { answer.result.withLock { $0 } }) else {
            task.cancel()
            _ = wait.takeInterruption()
            throw .interrupted
        }
        do throws(LoadFailure) { return try result.get() } catch { throw error.playbackError(address.name) }
    }
}

/// The result of a task for the thread that waits for it.
private final class LoadResult: Sendable {
    let result = Mutex<Result<(HLSPlaylist, base: String), LoadFailure>?>(nil)

    /// Stores the result. Only the first counts.
    func resolve(_ result: Result<(HLSPlaylist, base: String), LoadFailure>) {
        self.result.withLock { $0 = $0 ?? result }
    }
}
