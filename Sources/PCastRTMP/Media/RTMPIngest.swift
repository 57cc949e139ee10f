package import PCastCore

/// Converts the events of a publisher to the frames of one stream, for an SFU.
///
/// A stream has fixed tracks, while a publisher announces its tracks one after another. The frames are held until the
/// tracks are known, so that the first key frame is not lost. All frames receive times by `IngestTimeline`, and the video
/// is reviewed by `IngestReview`.
package struct RTMPIngest: Sendable {
    /// The audio of a stream.
    package enum Audio: Hashable, Sendable {
        /// Opus, which is forwarded as it is.
        case opus
        /// AAC, which must be transcoded to Opus.
        case aac(AudioSpecificConfiguration)
    }

    /// An audio track of a stream.
    package struct AudioTrack: Hashable, Sendable {
        /// The track.
        package let id: RTMPTrackID
        /// The codec.
        package let audio: Audio
        /// The language and the purpose.
        package let description: AudioTrackDescription

        /// Creates a track.
        package init(id: RTMPTrackID, audio: Audio, description: AudioTrackDescription = AudioTrackDescription()) {
            self.id = id
            self.audio = audio
            self.description = description
        }
    }

    /// The tracks of a stream.
    package struct Tracks: Hashable, Sendable {
        /// The codec of the video; nil without video.
        package let video: Codec?
        /// The video tracks with this codec, by their numbers. Each is a layer of the stream.
        package let layers: [RTMPTrackID]
        /// The video tracks that are left out, because their codec differs from that of the track with the lowest number.
        package let omitted: [RTMPTrackID]
        /// The audio tracks by their numbers, at most ``maximumAudioTrackCount``. The first one is the default.
        package let audioTracks: [AudioTrack]
        /// The audio of the first audio track; nil without audio.
        package var audio: Audio? { audioTracks.first?.audio }

        /// Creates a description.
        package init(video: Codec?, layers: [RTMPTrackID], omitted: [RTMPTrackID] = [], audioTracks: [AudioTrack]) {
            self.video = video
            self.layers = layers
            self.omitted = omitted
            self.audioTracks = audioTracks
        }
    }

    /// A result, in the order of the frames.
    package enum Output: Sendable {
        /// The tracks of the stream. They precede all frames, and do not change.
        case tracks(Tracks)
        /// A frame of a video layer, or a packet of Opus, for which the layer is the index of the audio track.
        case frame(EncodedFrame, layer: Int)
        /// A frame of AAC for the transcoder of an audio track, with its media time and capture time.
        case aac([UInt8], track: Int, time: TimeSpan, captureTime: WallTime)
        /// The configuration of the AAC of an audio track has changed.
        case aacConfiguration(AudioSpecificConfiguration, track: Int)
        /// A property of the video that the publisher should change, each once.
        case finding(RTMPTrackID, IngestFinding)
        /// The uplink has become too slow for the stream, or is sufficient again.
        case uplink(isWeak: Bool)
    }

    private struct Frame {
        let track: RTMPTrackID
        let output: Output
        let size: Int
    }

    /// The time from the first frame within which the tracks must be announced.
    package static let announcementTime = TimeSpan.seconds(1)
    /// The maximum size of the frames that are held, in bytes. Beyond it, the tracks that are known count.
    package static let maximumHeldSize = 8 * 1_024 * 1_024
    /// The maximum number of audio tracks of a stream. The frames of further ones are dropped.
    package static let maximumAudioTrackCount = 8

    private let clock: WallClockReference
    private var timeline = IngestTimeline()
    private var reviews: [RTMPTrackID: IngestReview] = [:]
    private var uplink = UplinkReview()
    private var configurations: [RTMPTrackID: RTMPCodecConfiguration] = [:]
    /// The tracks that the publisher declared with its metadata; nil if it declared none.
    private var declared: RTMPStreamMetadata?
    private var tracks: Tracks?
    private var held: [Frame] = []
    private var heldSize = 0
    private var firstFrame: Instant?
    private var outputs: [Output] = []
    private var outputIndex = 0

    /// The number of frames that were dropped, because their track does not belong to the stream.
    package private(set) var droppedCount = 0

    /// Creates a conversion.
    ///
    /// - Parameter clock: The wall clock, for capture times.
    package init(clock: WallClockReference) { self.clock = clock }

    /// Returns the capture time of a presentation time of the publisher; nil before the first frame.
    package func captureTime(of presentationTime: TimeSpan) -> WallTime? {
        timeline.current.map { clock.wallTime(at: $0.capture(of: presentationTime)) }
    }

    /// The time at which ``advance(to:)`` must be called; nil if it need not be.
    package var deadline: Instant? { tracks == nil ? firstFrame.map { $0 + Self.announcementTime } : nil }

    /// Returns the next result; nil if there is none.
    package mutating func poll() -> Output? {
        guard outputIndex < outputs.count else { return nil }
        defer {
            outputIndex += 1
            if outputIndex == outputs.count {
                outputs.removeAll(keepingCapacity: outputs.count <= 64)
                outputIndex = 0
            }
        }
        return outputs[outputIndex]
    }

    /// Processes an event of the publisher. Events without media have no effect.
    package mutating func handle(_ event: RTMPServerEvent, at now: Instant) {
        switch event {
        case .metadata(let metadata): declared = metadata
        case .configuration(let track, let configuration): configure(track, configuration)
        case .accessUnit(let unit): handle(unit, at: now)
        default: break
        }
    }

    /// Begins the stream with the tracks that are known, when it must not wait longer.
    package mutating func advance(to now: Instant) {
        if let deadline, now >= deadline { begin() }
    }

    // MARK: Configurations

    private mutating func configure(_ track: RTMPTrackID, _ configuration: RTMPCodecConfiguration) {
        configurations[track] = configuration
        if case .h264(let set) = configuration, let finding = reviews[track, default: IngestReview()].observe(set) {
            outputs.append(.finding(track, finding))
        }
        if case .hevc(let set) = configuration, let finding = reviews[track, default: IngestReview()].observe(set) {
            outputs.append(.finding(track, finding))
        }
        if case .aac(let set) = configuration, let index = tracks?.audioIndex(of: track),
            case .aac? = tracks?.audioTracks[index].audio
        {
            outputs.append(.aacConfiguration(set, track: index))
        }
    }

    /// The audio tracks that can be forwarded or transcoded, those with the lowest numbers.
    private var audioTracks: [AudioTrack] {
        let tracks = configurations.keys.sorted { $0.number < $1.number }.compactMap { id -> AudioTrack? in
            guard let audio = audio(of: id) else { return nil }
            let properties = declared?.audioTracks[id.number]
            return AudioTrack(
                id: id, audio: audio,
                description: AudioTrackDescription(
                    language: properties?.language.flatMap { LanguageTag($0) },
                    describesVideo: properties?.describesVideo ?? false))
        }
        return Array(tracks.prefix(Self.maximumAudioTrackCount))
    }

    private func audio(of track: RTMPTrackID) -> Audio? {
        switch configurations[track] {
        case .aac(let configuration): .aac(configuration)
        // Several Opus streams in a packet cannot be forwarded.
        case .opus(let header) where header.mappingFamily == 0: .opus
        default: nil
        }
    }

    private func video(of track: RTMPTrackID) -> Codec? {
        switch configurations[track] {
        case .h264: .h264
        case .hevc: .h265
        case .av1: .av1
        case .other(.vp9, _): .vp9
        case .other(.vp8, _): .vp8
        default: nil
        }
    }

    /// Whether video and audio are known, and the declared tracks, too.
    private var isAnnounced: Bool {
        let videos = configurations.keys.count { $0.mediaType == .video }
        let audios = configurations.keys.count { $0.mediaType == .audio }
        guard let declared else { return videos > 0 && audios > 0 }
        let hasAny = !declared.videoTracks.isEmpty || !declared.audioTracks.isEmpty
        return hasAny && videos >= declared.videoTracks.count && audios >= declared.audioTracks.count
    }

    // MARK: Frames

    private mutating func handle(_ unit: RTMPAccessUnit, at now: Instant) {
        let number = Int(unit.track.number) + (unit.track.mediaType == .video ? 0 : 256)
        let placement = timeline.place(unit.decodingTime, track: number, at: now)
        if let isWeak = uplink.observe(delay: now - placement.capture(of: unit.decodingTime), at: now) {
            outputs.append(.uplink(isWeak: isWeak))
        }
        let time = placement.mediaTime(of: unit.presentationTime)
        let captured = clock.wallTime(at: placement.capture(of: unit.presentationTime))
        if unit.track.mediaType == .video,
            let finding = reviews[unit.track, default: IngestReview()].observe(
                isKeyFrame: unit.isKeyFrame, decodingTime: placement.mediaTime(of: unit.decodingTime),
                presentationTime: time)
        {
            outputs.append(.finding(unit.track, finding))
        }
        guard let output = output(of: unit, time: time, captured: captured) else { return droppedCount += 1 }
        let frame = Frame(track: unit.track, output: output, size: unit.bytes.count)
        if let tracks { return emit(frame, tracks) }
        firstFrame = firstFrame ?? now
        held.append(frame)
        heldSize += frame.size
        if isAnnounced || heldSize > Self.maximumHeldSize { begin() }
    }

    /// Returns the frame with its times; nil if its codec cannot be forwarded.
    private func output(of unit: RTMPAccessUnit, time: TimeSpan, captured: WallTime) -> Output? {
        if unit.codec == .aac { return .aac(unit.bytes, track: 0, time: time, captureTime: captured) }
        guard var frame = unit.encodedFrame(captureTime: captured) else { return nil }
        frame.timestamp.ticks = frame.timestamp.rate.ticks(in: time)
        return .frame(frame, layer: 0)
    }

    /// Determines the tracks of the stream, and releases the frames that were held. Without any usable track, the stream
    /// does not begin.
    private mutating func begin() {
        let videos = configurations.keys.filter { $0.mediaType == .video && video(of: $0) != nil }
            .sorted { $0.number < $1.number }
        let codec = videos.first.flatMap { video(of: $0) }
        let layers = videos.filter { video(of: $0) == codec }
        let audioTracks = audioTracks
        guard codec != nil || !audioTracks.isEmpty else {
            droppedCount += held.count
            (held, heldSize, firstFrame) = ([], 0, nil)
            return
        }
        let omitted = videos.filter { video(of: $0) != codec }
        let tracks = Tracks(video: codec, layers: layers, omitted: omitted, audioTracks: audioTracks)
        self.tracks = tracks
        outputs.append(.tracks(tracks))
        for frame in held { emit(frame, tracks) }
        (held, heldSize) = ([], 0)
    }

    private mutating func emit(_ frame: Frame, _ tracks: Tracks) {
        switch frame.output {
        case .frame(let encoded, _) where encoded.codec.mediaType == .video:
            guard let layer = tracks.layers.firstIndex(of: frame.track), encoded.codec == tracks.video else { break }
            return outputs.append(.frame(encoded, layer: layer))
        case .frame(let encoded, _):
            guard let index = tracks.audioIndex(of: frame.track), tracks.audioTracks[index].audio == .opus else {
                break
            }
            return outputs.append(.frame(encoded, layer: index))
        case .aac(let bytes, _, let time, let captureTime):
            guard let index = tracks.audioIndex(of: frame.track), case .aac = tracks.audioTracks[index].audio
            else { break }
            return outputs.append(.aac(bytes, track: index, time: time, captureTime: captureTime))
        default: break
        }
        droppedCount += 1
    }
}

extension RTMPIngest.Tracks {
    /// Returns the index of an audio track; nil if the stream does not have it.
    fileprivate func audioIndex(of id: RTMPTrackID) -> Int? { audioTracks.firstIndex { $0.id == id } }
}
