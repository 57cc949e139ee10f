import CFFmpeg
public import PCastMedia

/// Reads a file, or any address that libavformat opens, and decodes it, or takes its pictures as they are coded.
///
/// Pictures and sounds come as the file has them mixed, each medium in the order of presentation, with its moment since
/// the media's beginning; a picture's always grows. Used by one thread at a time, but for `cancel`.
public final class MediaReader: @unchecked Sendable {  // owned by one thread at a time; `cancel` sets an atomic
    public enum Item: Sendable {
        case video(VideoFrame)
        case audio(AudioFrame)
    }

    /// What a reader gives that may pass coded pictures on.
    public enum Sample: Sendable {
        case picture(VideoFrame)
        /// H.264 in Annex B, without B-frames; the first is a key frame, and parameter sets stand before each.
        case coded(EncodedFrame)
        case sound(AudioFrame)
    }

    private struct DecodedTrack {
        let track: MediaTrack
        let decoder: AVCodecContextHolder
        let geometry: FrameGeometry
    }

    private let uri: String
    /// For people.
    private let name: String
    private let selection: Set<MediaType>
    private let passesThrough: Bool
    private let deadline = ReadingDeadline(patience: .seconds(10))
    private var input: MediaInput?
    private var video: DecodedTrack?
    private var audio: DecodedTrack?
    private var coded: (track: MediaTrack, video: CodedVideo)?
    private let frame = AVFrameHolder()
    private let converter = PictureConverter()
    private var sounds = SoundReading()
    private var waiting: [Sample] = []
    private var isDraining = false
    private var hasRead = false
    private var times = PictureTimes()
    /// Pictures that are decoded from the middle of the stream on would come out torn before it.
    private var needsKeyFrame = false
    private var droppedBefore = 0

    /// The size of the presented pictures, even numbers, as the file says at its beginning; nil without video.
    public private(set) var dimensions: Dimensions?
    /// Pictures a second on average; nil when unknown.
    public private(set) var frameRate: Double?
    /// Channels of the sound as it is read, 1 or 2; nil without sound.
    public private(set) var channels: Int?
    /// nil when it has no end, or does not say.
    public private(set) var duration: TimeSpan?
    /// Of H.264, as the file says at its beginning; nil when it is none, or unknown.
    public private(set) var profile: H264Profile?
    /// Why pictures are decoded although they were to be passed through; nil as long as they are, and when they were
    /// not to be. It may come on the way: what comes after is decoded, from the next key frame on.
    public private(set) var passThroughObstacle: PassThroughObstacle?

    /// Coded pictures that were held back: damaged ones, and those that refer to them.
    public var droppedCount: Int { droppedBefore + (coded?.video.droppedCount ?? 0) }

    /// - Parameters:
    ///   - uri: a path or an address, such as `film.mp4` or `rtsp://…`.
    ///   - name: for people; nil for the address without its secrets.
    ///   - selection: what is read; the rest is passed over.
    ///   - passesThrough: gives pictures as they are coded as long as they can be sent so; read with `nextSample`.
    /// - Throws: `CodecError.cannotOpen`, or `CodecError.noTrack` when there is neither picture nor sound.
    public init(
        uri: String, name: String? = nil, select selection: Set<MediaType> = [.video, .audio],
        passesThrough: Bool = false
    ) throws(CodecError) {
        AVLog.quiet()
        self.uri = uri
        self.name = name ?? MediaName.withoutSecrets(uri)
        self.selection = selection
        self.passesThrough = passesThrough
        try open()
        guard video != nil || audio != nil || coded != nil else {
            throw .noTrack("“\(self.name)” holds neither pictures nor sound that can be decoded")
        }
    }

    /// Makes a call that waits, now or later, end at once. From any thread.
    public func cancel() { deadline.cancel() }

    private func open() throws(CodecError) {
        (video, audio, coded, input) = (nil, nil, nil, nil)
        let input: MediaInput
        do throws(MediaInputFailure) {
            input = try MediaInput(uri: uri, name: name, deadline: deadline)
        } catch {
            throw .cannotOpen(name, reason: error.reason)
        }
        self.input = input
        let pictures = selection.contains(.video) ? input.bestTrack(AVMEDIA_TYPE_VIDEO) : nil
        let sound = selection.contains(.audio) ? input.bestTrack(AVMEDIA_TYPE_AUDIO, beside: pictures) : nil
        if let pictures { try openPictures(pictures) }
        audio = try sound.flatMap { track throws(CodecError) in try Self.decoded(track) }
        dimensions = video != nil || coded != nil ? pictures?.dimensions : nil
        frameRate = dimensions == nil ? nil : pictures.flatMap(input.frameRate)
        profile = dimensions == nil ? nil : pictures.flatMap(CodedVideo.profile)
        if audio != nil { channels = SoundReading.channels }
        duration = input.duration
        input.select([video?.track, coded?.track, audio?.track].compactMap(\.self))
    }

    private func openPictures(_ track: MediaTrack) throws(CodecError) {
        // What stood against it on the way stands against it when it is read again.
        if passesThrough, passThroughObstacle == nil {
            do throws(PassThroughObstacle) {
                coded = (track, try CodedVideo(track))
                return
            } catch {
                passThroughObstacle = error
            }
        }
        video = try Self.decoded(track)
    }

    private static func decoded(_ track: MediaTrack) throws(CodecError) -> DecodedTrack? {
        guard let decoder = try track.decoder() else { return nil }
        return DecodedTrack(track: track, decoder: decoder, geometry: track.geometry)
    }

    /// Begins again, by opening it again: seeking lands beside the beginning in some formats, MPEG-TS among them.
    ///
    /// - Throws: `CodecError.cannotOpen` when an address cannot be read again.
    public func rewind() throws(CodecError) {
        droppedBefore = droppedCount
        waiting.removeAll()
        isDraining = false
        needsKeyFrame = false
        times = PictureTimes()
        // Not what is left in it of the end.
        sounds = SoundReading()
        try open()
    }

    /// The next picture or sound of a reader that decodes; nil at the end.
    ///
    /// - Throws: `CodecError.damaged` when the source broke off.
    public func next() throws(CodecError) -> Item? {
        switch try nextSample() {
        case nil: return nil
        case .picture(let picture): return .video(picture)
        case .sound(let sound): return .audio(sound)
        case .coded: preconditionFailure("coded pictures are read with nextSample")
        }
    }

    /// The next picture, coded or decoded, or sound; nil at the end.
    ///
    /// - Throws: `CodecError.damaged` when the source broke off.
    public func nextSample() throws(CodecError) -> Sample? {
        while waiting.isEmpty {
            if isDraining { return nil }
            try readPacket()
        }
        return waiting.removeFirst()
    }

    private func readPacket() throws(CodecError) {
        guard let input else {
            throw .cannotOpen(name, reason: "it could not be opened again")
        }
        guard try readNext(of: input) else {
            if !hasRead, let obstacle = input.indexObstacle {
                throw .cannotOpen(name, reason: obstacle)
            }
            isDraining = true
            if let video { try decode(nil, video, isVideo: true) }
            if let audio { try decode(nil, audio, isVideo: false) }
            return
        }
        hasRead = true
        let packet = input.packet.pointer
        defer { av_packet_unref(packet) }
        if let coded, packet.pointee.stream_index == coded.track.index { try pass(packet, of: input) }
        if let video, packet.pointee.stream_index == video.track.index {
            if packet.pointee.flags & AV_PKT_FLAG_KEY != 0 { needsKeyFrame = false }
            if !needsKeyFrame { try decode(packet, video, isVideo: true) }
        } else if let audio, packet.pointee.stream_index == audio.track.index {
            try decode(packet, audio, isVideo: false)
        }
    }

    private func readNext(of input: MediaInput) throws(CodecError) -> Bool {
        do throws(MediaInputFailure) { return try input.read() } catch {
            if !hasRead, let obstacle = input.indexObstacle {
                throw .cannotOpen(name, reason: obstacle)
            }
            throw .damaged("“\(input.name)” broke off: \(error.reason)")
        }
    }

    /// Takes a coded picture, or goes over to decoding.
    private func pass(_ packet: UnsafeMutablePointer<AVPacket>, of input: MediaInput) throws(CodecError) {
        guard let track = coded?.track, var pictures = coded?.video else { return }
        let timestamp = packet.pointee.pts == cffmpeg_no_timestamp() ? packet.pointee.dts : packet.pointee.pts
        let moment = track.moment(timestamp, of: input)
        do throws(PassThroughObstacle) {
            let frame = try pictures.take(packet, moment: moment)
            coded = (track, pictures)
            guard var frame else { return }
            frame.timestamp = times.place(moment, frameRate: frameRate)
            waiting.append(.coded(frame))
        } catch {
            droppedBefore += pictures.droppedCount
            coded = nil
            passThroughObstacle = error
            needsKeyFrame = true
            video = try Self.decoded(track)
        }
    }

    /// A damaged packet is passed over: files have them, and the next is often whole.
    private func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, _ track: DecodedTrack, isVideo: Bool
    ) throws(CodecError) {
        guard avcodec_send_packet(track.decoder.pointer, packet) >= 0 else { return }
        while avcodec_receive_frame(track.decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            let moment = input.flatMap { track.track.moment(frame.pointer.pointee.best_effort_timestamp, of: $0) }
            if isVideo {
                let timestamp = times.place(moment, frameRate: frameRate)
                let picture = try converter.convert(
                    frame.pointer, geometry: track.geometry, captureTime: nil, timestamp: timestamp)
                waiting.append(.picture(picture))
            } else if let sound = try sounds.take(frame.pointer, moment: moment) {
                waiting.append(.sound(sound))
            }
        }
    }
}
