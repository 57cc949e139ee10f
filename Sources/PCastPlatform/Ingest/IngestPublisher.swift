import Logging
import PCastCore
import PCastDatabase
import PCastHLS
import PCastIO
import PCastRTMP
import PCastSFU
import PCastSRT
import Synchronization

/// The connection of a publisher in this process, by one of its protocols.
protocol IngestConnection: Sendable {
    /// The protocol.
    var ingestProtocol: IngestProtocol { get }
    /// The address of the client; nil if it is unknown.
    var address: TransportAddress? { get }
    /// Accepts the stream, after which the publisher sends media.
    func acceptPublishing()
    /// Sends a warning with which the stream continues, if the protocol has a message for it.
    func warn(_ message: String)
    /// Rejects the publisher, and closes the connection.
    func reject(_ error: APIError)
    /// Closes the connection of a publisher that has no stream yet.
    func end(because description: String)
    /// Closes the connection after its stream has ended.
    func end(_ end: StreamEnd)
}

/// A publisher of one stream in this process, from its request until its end.
///
/// The thread of the connection passes the events. The control plane admits the publisher, and creates the stream
/// when its tracks are known. Frames that arrive meanwhile are held.
final class IngestPublisher: Sendable {
    private enum Phase {
        /// The key is being checked.
        case deciding
        /// The publisher is admitted. Its tracks are not known yet.
        case admitted(StreamDirectory.IngestAdmission)
        /// The stream is being created.
        case starting
        case publishing(PublishedStream)
        case ended
    }

    /// The stream, and the transcoders of its audio tracks by their numbers.
    private struct PublishedStream {
        let stream: StreamDirectory.IngestStream
        let transcoders: [Int: AudioTranscoding]

        /// Passes frames on. It never waits.
        func send(_ outputs: [RTMPIngest.Output]) {
            var frames: [IngestFeed.Frame] = []
            for output in outputs {
                switch output {
                case .frame(let frame, let track) where frame.codec.mediaType == .audio && track > 0:
                    stream.audioFeed?.send(frame, track: track)
                case .frame(let frame, let layer): frames.append(.init(frame: frame, layer: layer))
                case .aac(let bytes, let track, let time, let captureTime):
                    transcoders[track]?.send(bytes, time: time, captureTime: captureTime)
                case .aacConfiguration(let configuration, let track):
                    transcoders[track]?.configure(configuration.bytes)
                case .tracks, .finding, .uplink: break
                }
            }
            stream.feed.send(frames)
        }

        /// Ends the transcoders.
        func close() { for transcoder in transcoders.values { transcoder.close() } }
    }

    private struct State {
        var phase = Phase.deciding
        var ingest: RTMPIngest
        /// The outputs that arrived since the stream is being created.
        var held: [RTMPIngest.Output] = []
        var heldSize = 0
        var lastReceived: Instant
        /// The fingerprint of the key; nil before it is known, and without a key.
        var fingerprint: String?
        /// The breaks of the stream according to its splice messages.
        var breaks = SpliceDateRanges()
        /// The limits of the key.
        var limits = StreamKeyLimits()
        /// The changes that the publisher should make, each once.
        var findings: [IngestFinding] = []
        /// The request of another publisher that waits for the end.
        var endContinuation: CheckedContinuation<Void, Never>?
    }

    /// The maximum size of frames that are held while the stream is created, in bytes.
    private static let maximumHeldSize = 16 << 20

    private let connection: any IngestConnection
    private let service: IngestService
    private let state: Mutex<State>

    init(_ connection: any IngestConnection, of service: IngestService, at now: Instant) {
        self.connection = connection
        self.service = service
        state = Mutex(State(ingest: RTMPIngest(clock: MonotonicClock.reference()), lastReceived: now))
    }

    /// Returns whether the publisher has sent nothing for `RTMPConfiguration.replacementTime`.
    func isSilent(at now: Instant) -> Bool {
        state.withLock { now - $0.lastReceived >= service.replacementTime }
    }

    /// The address of the client, for the log.
    private var clientText: String { connection.address.map { "\($0.ip)" } ?? "unknown" }

    // MARK: Admission

    /// Decides about the publisher, and answers it, always after the same time.
    ///
    /// - Parameters:
    ///   - capabilities: The capabilities that the publisher requests.
    ///   - identify: Authenticates the publisher.
    func begin(
        requesting capabilities: [String],
        _ identify: @escaping @Sendable () async throws(APIError) -> (Principal, ClientContext)
    ) {
        let deadline = ContinuousClock.now + IngestAccess.answerTime
        Task {
            do throws(APIError) {
                let (admission, rejected) = try await admit(capabilities, identify)
                try? await Task.sleep(until: deadline, clock: .continuous)
                accept(admission, rejected)
            } catch {
                try? await Task.sleep(until: deadline, clock: .continuous)
                reject(error)
            }
        }
    }

    private func admit(
        _ capabilities: [String], _ identify: @Sendable () async throws(APIError) -> (Principal, ClientContext)
    ) async throws(APIError) -> (StreamDirectory.IngestAdmission, rejected: [String]) {
        let now = MonotonicClock.now()
        let revocationCount = service.revocationCount
        let (principal, client) = try await identify()
        if let fingerprint = principal.fingerprint {
            let former = try service.assign(
                fingerprint, limit: principal.limits.connections ?? 1, to: self, at: now)
            let isPresent = state.withLock { state in
                state.fingerprint = fingerprint
                if case .ended = state.phase { return false }
                return true
            }
            // The connection may have ended before the key was assigned.
            if !isPresent { service.release(fingerprint, of: self) }
            await former?.end(because: "replaced by another publisher")
            // The key may have been revoked since it was found.
            guard service.revocationCount == revocationCount else { throw .keyChanged }
        }
        state.withLock { $0.limits = principal.limits }
        let (admission, rejected) = try await service.directory.admitIngest(
            principal, clientContext: client, requesting: capabilities)
        return (admission, rejected)
    }

    private func accept(_ admission: StreamDirectory.IngestAdmission, _ rejected: [String]) {
        let isPresent = state.withLock { state in
            guard case .deciding = state.phase else { return false }
            state.phase = .admitted(admission)
            state.lastReceived = MonotonicClock.now()
            return true
        }
        guard isPresent else { return }
        connection.acceptPublishing()
        let ignored = rejected + admission.capabilities.reportedNames
        guard !ignored.isEmpty else { return }
        connection.warn("These capabilities have no effect or need a token: \(ignored.joined(separator: ", ")).")
    }

    private func reject(_ error: APIError) {
        service.logger.info(
            "\(connection.ingestProtocol.name) publisher rejected",
            metadata: ["address": "\(clientText)", "reason": "\(error.detail)"])
        connection.reject(error)
        leave()
    }

    // MARK: Media

    /// Receives the events of one read that concern media.
    func receive(_ events: [RTMPServerEvent], at now: Instant) {
        let limits = state.withLock { $0.limits }
        if limits.limitsSize, let error = events.lazy.compactMap({ $0.videoSize.error(beyond: limits) }).first {
            return endBeyondLimit(error)
        }
        var findings: [IngestFinding] = []
        var uplinks: [Bool] = []
        var published: StreamDirectory.IngestStream?
        var start: (RTMPIngest.Tracks, StreamDirectory.IngestAdmission)?
        state.withLock { state in
            state.lastReceived = now
            for event in events { state.ingest.handle(event, at: now) }
            state.ingest.advance(to: now)
            var outputs: [RTMPIngest.Output] = []
            while let output = state.ingest.poll() {
                switch output {
                case .finding(_, let finding): findings.append(finding)
                case .uplink(let isWeak): uplinks.append(isWeak)
                case .tracks(let tracks):
                    guard case .admitted(let admission) = state.phase else { continue }
                    state.phase = .starting
                    start = (tracks, admission)
                default: outputs.append(output)
                }
            }
            switch state.phase {
            case .starting: Self.hold(outputs, in: &state)
            // The lock keeps the order of frames.
            case .publishing(let current):
                current.send(outputs)
                published = current.stream
            case .deciding, .admitted, .ended: break
            }
            state.findings += findings
        }
        for finding in findings { warn(finding) }
        // The directory logs that the uplink is too slow.
        if uplinks.last == true { connection.warn("\(IngestFinding.weakUplink)") }
        if let published { report(findings, uplinks.last, of: published.id) }
        if let (tracks, admission) = start { Task { await create(tracks, admission) } }
    }

    private static func hold(_ outputs: [RTMPIngest.Output], in state: inout State) {
        for output in outputs {
            guard state.heldSize <= maximumHeldSize else { return }
            state.held.append(output)
            state.heldSize += output.size
        }
    }

    /// Receives splice messages, which become date ranges of HLS.
    func receive(_ splices: [TransportStreamDemuxer.Splice]) {
        let (id, ranges) = state.withLock { state -> (StreamID?, [DateRange]) in
            guard case .publishing(let published) = state.phase else { return (nil, []) }
            let ranges = splices.compactMap { splice in
                state.ingest.captureTime(of: splice.time).flatMap { state.breaks.range(of: splice.information, at: $0) }
            }
            return (published.stream.id, ranges)
        }
        guard let id, !ranges.isEmpty else { return }
        service.logger.info("splice messages", metadata: ["stream": "\(id)", "count": "\(ranges.count)"])
        service.directory.packaging?.add(ranges, to: id)
    }

    private func report(_ findings: [IngestFinding], _ isUplinkWeak: Bool?, of id: StreamID) {
        guard !findings.isEmpty || isUplinkWeak != nil else { return }
        Task { [service] in
            await service.directory.note(findings, of: id)
            if let isUplinkWeak { await service.directory.noteUplink(isWeak: isUplinkWeak, of: id) }
        }
    }

    private func warn(_ finding: IngestFinding) {
        service.logger.notice(
            "\(connection.ingestProtocol.name) publisher",
            metadata: ["address": "\(clientText)", "warning": "\(finding)"])
        connection.warn("\(finding)")
    }

    // MARK: Stream

    private func create(_ tracks: RTMPIngest.Tracks, _ admission: StreamDirectory.IngestAdmission) async {
        let hasAudio = tracks.audio == .opus || (tracks.audio != nil && service.transcoding != nil)
        if tracks.audio != nil, !hasAudio {
            connection.warn("The platform does not transcode AAC, so the stream has no audio; send Opus.")
        }
        if !tracks.omitted.isEmpty {
            let list = tracks.omitted.map(\.description).joined(separator: ", ")
            connection.warn(
                "Tracks with another codec than the first one are left out: \(list); use one codec for all.")
        }
        let media = IngestMedia(video: tracks.video, layers: tracks.layers.count, hasAudio: hasAudio)
        let descriptions = hasAudio ? tracks.audioTracks.map(\.description) : []
        do throws(APIError) {
            let stream = try await service.directory.publish(
                admission, by: connection.ingestProtocol, ingesting: media, audio: descriptions
            ) { [self] end in
                ended(end)
            }
            await begin(stream, tracks.audioTracks.map(\.audio), of: admission.principal.application)
        } catch {
            reject(error)
        }
    }

    /// Passes on the frames that were held.
    private func begin(
        _ stream: StreamDirectory.IngestStream, _ audio: [RTMPIngest.Audio], of application: ApplicationID
    ) async {
        let published = PublishedStream(
            stream: stream, transcoders: transcoders(of: audio, of: application, for: stream))
        let (isPresent, findings) = state.withLock { state in
            guard case .starting = state.phase else { return (false, [IngestFinding]()) }
            state.phase = .publishing(published)
            published.send(state.held)
            (state.held, state.heldSize) = ([], 0)
            return (true, state.findings)
        }
        guard !isPresent else { return report(findings, nil, of: stream.id) }
        published.close()
        await service.directory.end(stream.id, reason: .failed, description: "")
    }

    /// Returns the transcoders of the audio tracks with AAC, by their numbers. Further tracks are transcoded only if they are
    /// packaged.
    private func transcoders(
        of audio: [RTMPIngest.Audio], of application: ApplicationID, for stream: StreamDirectory.IngestStream
    ) -> [Int: AudioTranscoding] {
        guard let pool = service.transcoding else { return [:] }
        var transcoders: [Int: AudioTranscoding] = [:]
        for (track, audio) in audio.enumerated() where track == 0 || stream.audioFeed != nil {
            guard case .aac(let configuration) = audio else { continue }
            do throws(IOError) {
                transcoders[track] = try pool.begin(for: application, configuration: configuration.bytes) { packet in
                    guard track > 0 else { return stream.feed.send([.init(frame: packet, layer: 0)]) }
                    stream.audioFeed?.send(packet, track: track)
                }
            } catch {
                service.logger.error(
                    "audio cannot be transcoded", metadata: ["error": "\(error)", "track": "\(track)"])
            }
        }
        return transcoders
    }

    // MARK: End

    /// Rejects the publisher, and ends its stream if it has begun.
    private func endBeyondLimit(_ error: APIError) {
        let stream = state.withLock { state -> StreamDirectory.IngestStream? in
            if case .publishing(let published) = state.phase { published.stream } else { nil }
        }
        reject(error)
        guard let stream else { return }
        Task { [service] in
            await service.directory.end(stream.id, reason: .custom, description: "limit of the stream key exceeded")
        }
    }

    /// Ends the stream because of the publisher.
    func end(_ reason: StreamEndedReason) {
        guard let stream = leave() else { return }
        Task { [service] in await service.directory.end(stream.id, reason: reason, description: "") }
    }

    /// Ends the stream with a reason of the platform, and returns when it has ended.
    func end(because description: String) async {
        let stream = state.withLock { state -> StreamDirectory.IngestStream? in
            guard case .publishing(let published) = state.phase else { return nil }
            return published.stream
        }
        guard let stream else {
            connection.end(because: description)
            leave()
            return
        }
        await withCheckedContinuation { continuation in
            let isPresent = state.withLock { state in
                guard case .publishing = state.phase, state.endContinuation == nil else { return false }
                state.endContinuation = continuation
                return true
            }
            guard isPresent else { return continuation.resume() }
            Task { [service] in
                let exists = await service.directory.end(stream.id, reason: .custom, description: description)
                if !exists { ended(StreamEnd(streamID: stream.id, reason: .custom, description: description)) }
            }
        }
    }

    /// Records the end of the stream at the platform, and closes the connection unless the publisher has ended it.
    private func ended(_ end: StreamEnd) {
        let continuation = state.withLock { state in
            defer { state.endContinuation = nil }
            return state.endContinuation
        }
        let isPublisherPresent = state.withLock { state in
            if case .ended = state.phase { return false }
            return true
        }
        leave()
        continuation?.resume()
        if isPublisherPresent { connection.end(end) }
    }

    /// Ends the publisher. Returns its stream if it has one that has not ended.
    @discardableResult
    private func leave() -> StreamDirectory.IngestStream? {
        let (published, fingerprint) = state.withLock { state -> (PublishedStream?, String?) in
            var published: PublishedStream?
            if case .publishing(let current) = state.phase { published = current }
            state.phase = .ended
            (state.held, state.heldSize) = ([], 0)
            return (published, state.fingerprint)
        }
        published?.close()
        if let fingerprint { service.release(fingerprint, of: self) }
        return published?.stream
    }
}

extension RTMPIngest.Output {
    /// The size of the media in bytes.
    fileprivate var size: Int {
        switch self {
        case .frame(let frame, _): frame.bytes.count
        case .aac(let bytes, _, _, _): bytes.count
        case .tracks, .aacConfiguration, .finding, .uplink: 0
        }
    }
}
