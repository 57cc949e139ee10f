import Logging
import PCastCore
import PCastIO
import PCastPackaging
import PCastSFU
import PCastSRT
import Synchronization

/// The streams that SRT viewers receive as MPEG-TS. Each is read and converted once for all of its viewers.
final class SRTViewers: Sendable {
    /// The codecs that a transport stream can have.
    private static let codecs: Set<Codec> = [.h264, .opus]

    private let router: MediaRouter
    private let audio: SRTConfiguration.ViewerAudio
    private let logger: Logger
    /// The streams with viewers.
    private let streams = Mutex<[StreamID: SRTViewedStream]>([:])
    private let dropped = Atomic(0)

    init(router: MediaRouter, audio: SRTConfiguration.ViewerAudio, logger: Logger) {
        self.router = router
        self.audio = audio
        self.logger = logger
    }

    /// The number of viewers.
    var count: Int { streams.withLock { Array($0.values) }.reduce(0) { $0 + $1.viewerCount } }

    /// The number of frames that were not sent to viewers, because their connections are too slow.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Begins to send a stream to a viewer.
    ///
    /// - Throws: ``APIError`` with the kind `unsupported` if the stream has no media for the viewer.
    func add(_ connection: SRTConnection, to stream: LiveStream, media: Set<MediaType>) async throws(APIError) {
        let (viewed, isNew) = streams.withLock { streams in
            let known = streams[stream.id]
            let viewed = known ?? SRTViewedStream(stream.peer, audio)
            streams[stream.id] = viewed
            viewed.add(connection, media)
            return (viewed, known == nil)
        }
        if isNew {
            let tracks = await router.beginReadingForTransportStream(stream.id, codecs: Self.codecs, of: stream.peer)
            viewed.begin(tracks)
            let current = streams.withLock { $0[stream.id] }
            // The last viewer may have left meanwhile.
            if current == nil { router.endReadingForTransportStream(stream.id, of: stream.peer) }
        }
        guard viewed.hasMedia(for: connection) else {
            let codecs = stream.codecs.map(\.rawValue).joined(separator: " and ")
            let sent = codecs.isEmpty ? "The stream has no media" : "The stream is \(codecs), which is not sent"
            throw APIError(.unsupported, "\(sent) to SRT viewers: publish H.264 or Opus.")
        }
    }

    /// Ends what ``add(_:to:media:)`` began.
    func remove(_ connection: SRTConnection, from id: StreamID) {
        let last = streams.withLock { streams -> SRTViewedStream? in
            guard let viewed = streams[id], viewed.remove(connection) else { return nil }
            streams[id] = nil
            return viewed
        }
        if let last { router.endReadingForTransportStream(id, of: last.publisher) }
    }

    /// Sends the frames of all streams until the router stops.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for feed in router.transportStreamFeeds {
                group.addTask {
                    for await batch in feed.batches {
                        self.send(batch)
                        feed.processed(batch)
                    }
                }
            }
        }
    }

    private func send(_ batch: PublishedUnitFeed.Batch) {
        let now = MonotonicClock.now()
        let open = streams.withLock { $0 }
        if batch.followsLoss {
            logger.warning("sending to SRT viewers is too slow: frames were dropped")
            for viewed in open.values { viewed.framesLost() }
        }
        var start = batch.units.startIndex
        while start < batch.units.endIndex {
            let id = batch.units[start].stream
            let end = batch.units[start...].firstIndex { $0.stream != id } ?? batch.units.endIndex
            if let viewed = open[id] {
                let result = viewed.send(batch.units[start..<end], at: now)
                dropped.add(result.droppedCount, ordering: .relaxed)
                router.requestKeyFrames(
                    of: id, layers: result.keyFrames, from: viewed.publisher, for: .transportStream)
            }
            start = end
        }
    }
}

/// A stream with its SRT viewers.
private final class SRTViewedStream: Sendable {
    /// The result of sending frames.
    struct Result {
        var droppedCount = 0
        /// The layers of which key frames must be requested.
        var keyFrames: [Int] = []
    }

    private struct Viewer: Sendable {
        let connection: SRTConnection
        let media: Set<MediaType>
        var gate = TransportStreamGate()
    }

    private struct State: Sendable {
        /// The codecs of the tracks by their layers, nil for audio; nil before they are known.
        var tracks: [Int?: Codec]?
        var viewers: [ObjectIdentifier: Viewer] = [:]
        /// The transport streams by their media. A viewer's token may permit audio or video only.
        var programs: [Set<MediaType>: TransportStreamProgram] = [:]
        /// The transcoder of the audio; nil for Opus.
        var transcoder: AudioTranscoder?
    }

    /// The publisher whose stream is read.
    let publisher: PeerID
    private let audio: SRTConfiguration.ViewerAudio
    private let state = Mutex(State())

    init(_ publisher: PeerID, _ audio: SRTConfiguration.ViewerAudio) {
        self.publisher = publisher
        self.audio = audio
    }

    var viewerCount: Int { state.withLock { $0.viewers.count } }

    func add(_ connection: SRTConnection, _ media: Set<MediaType>) {
        state.withLock { $0.viewers[ObjectIdentifier(connection)] = Viewer(connection: connection, media: media) }
    }

    /// Removes a viewer. Returns whether it was the last one.
    func remove(_ connection: SRTConnection) -> Bool {
        state.withLock { state in
            state.viewers.removeValue(forKey: ObjectIdentifier(connection)) != nil && state.viewers.isEmpty
        }
    }

    /// Sets the tracks that are read. Viewers without any are disconnected.
    func begin(_ tracks: [Int?: Codec]) {
        let excluded = state.withLock { state -> [SRTConnection] in
            state.tracks = tracks
            if tracks[Int?.none] != nil, audio == .aac { state.transcoder = try? AudioTranscoder() }
            return state.viewers.values.filter { Self.media($0.media, tracks).isEmpty }.map(\.connection)
        }
        for connection in excluded { connection.close() }
    }

    /// Whether a viewer receives any media, or the tracks are not known yet.
    func hasMedia(for connection: SRTConnection) -> Bool {
        state.withLock { state in
            guard let tracks = state.tracks, let viewer = state.viewers[ObjectIdentifier(connection)] else {
                return true
            }
            return !Self.media(viewer.media, tracks).isEmpty
        }
    }

    private static func media(_ permitted: Set<MediaType>, _ tracks: [Int?: Codec]) -> Set<MediaType> {
        permitted.intersection(tracks.values.map(\.mediaType))
    }

    /// Continues with key frames, because frames were lost.
    func framesLost() {
        state.withLock { state in
            for media in state.programs.keys { state.programs[media]?.framesLost() }
        }
    }

    /// Sends frames to all viewers, without waiting.
    func send(_ units: some Collection<PublishedUnit>, at now: Instant) -> Result {
        state.withLock { state in
            var result = Result()
            guard let tracks = state.tracks else { return result }
            for unit in units {
                for frame in Self.frames(of: unit, state.transcoder) { Self.send(frame, &state, tracks, &result) }
            }
            let layers = tracks.keys.compactMap(\.self)
            for key in state.viewers.keys {
                guard let queue = state.viewers[key]?.connection.queuedTime,
                    state.viewers[key]?.gate.takeKeyFrameRequest(queue: queue, at: now) == true
                else { continue }
                result.keyFrames = layers
            }
            return result
        }
    }

    private static func frames(of unit: PublishedUnit, _ transcoder: AudioTranscoder?) -> [TransportStreamUnit] {
        guard unit.layer == nil, let transcoder else {
            return [
                TransportStreamUnit(
                    layer: unit.layer, bytes: unit.bytes, timestamp: unit.timestamp, captureTime: unit.captureTime)
            ]
        }
        return transcoder.transcode(unit).map {
            TransportStreamUnit(layer: nil, bytes: $0.bytes, timestamp: $0.timestamp, captureTime: $0.captureTime)
        }
    }

    private static func send(
        _ frame: TransportStreamUnit, _ state: inout State, _ tracks: [Int?: Codec], _ result: inout Result
    ) {
        var pieces: [Set<MediaType>: TransportStreamPiece] = [:]
        for media in Set(state.viewers.values.map { Self.media($0.media, tracks) }) where !media.isEmpty {
            pieces[media] = state.programs[media, default: program(media, state.transcoder)].append(frame)
        }
        for key in state.viewers.keys {
            guard var viewer = state.viewers[key], let piece = pieces[Self.media(viewer.media, tracks)] else {
                continue
            }
            let before = viewer.gate.droppedCount
            if viewer.gate.admits(piece, queue: viewer.connection.queuedTime), !viewer.connection.send(piece.bytes) {
                viewer.gate.queueIsFull()
            }
            result.droppedCount += viewer.gate.droppedCount - before
            state.viewers[key] = viewer
        }
    }

    private static func program(_ media: Set<MediaType>, _ transcoder: AudioTranscoder?) -> TransportStreamProgram {
        var audio: TransportStreamAudio?
        if media.contains(.audio) {
            audio = transcoder.flatMap { AudioSpecificConfiguration($0.format.configuration) }.map { .aac($0) } ?? .opus
        }
        return TransportStreamProgram(hasVideo: media.contains(.video), audio: audio)
    }
}

/// The connection of an SRT client, which views one stream.
final class SRTViewer: Sendable {
    private enum Phase: Sendable {
        case deciding
        case viewing(StreamDirectory.LocalViewing)
        case ended
    }

    private let connection: SRTConnection
    private let service: SRTService
    private let phase = Mutex(Phase.deciding)
    /// Whether the limit of connections counts this one.
    private let isAdmitted: Bool

    init(_ connection: SRTConnection, requesting id: SRTStreamID, of service: SRTService) {
        self.connection = connection
        self.service = service
        let now = MonotonicClock.now()
        let ip = connection.address?.ip
        isAdmitted = service.limiter.admitConnection(from: ip, at: now)
        guard isAdmitted else {
            reject(.tooManySRTConnections)
            return
        }
        service.limiter.connectionStoppedWaiting(from: ip)
        Task {
            do throws(APIError) {
                try await begin(id, from: ip, at: now)
            } catch {
                reject(error)
            }
        }
    }

    /// The functions that the listener calls.
    var handler: SRTListener.Handler { SRTListener.Handler(receive: nil, closed: { [self] in closed() }) }

    private func begin(_ id: SRTStreamID, from ip: IPAddress?, at now: Instant) async throws(APIError) {
        let directory = service.ingest.directory
        // The token may have expired since the handshake.
        let (principal, client) = try service.ingest.access.identifyViewer(
            id.credential, viewing: id.requestedStream, among: directory.available, from: ip, at: now)
        let viewing = try await directory.viewLocally(
            principal, clientContext: client, origin: id.requestedStream
        ) { [connection] _ in connection.close() }
        let isPresent = phase.withLock { phase in
            guard case .deciding = phase else { return false }
            phase = .viewing(viewing)
            return true
        }
        guard isPresent else { return await end(viewing) }
        do throws(APIError) {
            try await service.viewers.add(connection, to: viewing.stream, media: viewing.media)
        } catch {
            connection.close()
            throw error
        }
        // The client may have left, and the viewer is removed only by the end of the connection.
        if case .ended = phase.withLock({ $0 }) { service.viewers.remove(connection, from: viewing.stream.id) }
    }

    private func reject(_ error: APIError) {
        service.noteRejection()
        service.logger.info(
            "SRT viewer rejected",
            metadata: ["address": "\(SRTService.text(connection.address))", "reason": "\(error.detail)"])
        connection.close()
    }

    private func closed() {
        let former = phase.withLock { phase in
            defer { phase = .ended }
            return phase
        }
        if case .viewing(let viewing) = former {
            service.viewers.remove(connection, from: viewing.stream.id)
            Task { await end(viewing) }
        }
        if isAdmitted { service.limiter.connectionClosed(from: connection.address?.ip) }
    }

    private func end(_ viewing: StreamDirectory.LocalViewing) async {
        await service.ingest.directory.end(viewing.id, reason: .ended, description: "")
    }
}

extension SRTStreamID {
    /// The stream that a viewer requests; nil if it names none.
    var requestedStream: StreamID? { resource.isEmpty ? nil : StreamID(resource) }
}

extension APIError {
    static let tooManySRTConnections = APIError(
        .capacity, "The address has too many connections: retry later.", detail: "too many connections")
}
