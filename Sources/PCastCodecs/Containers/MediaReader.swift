import CFFmpeg
package import PCastCore

/// Reads a file or an address that libavformat can open. It decodes the media, or returns the video as encoded frames.
///
/// Frames and audio come in the order of the container, each track in presentation order, with times since the start.
/// The times of frames always increase. Only one thread may use it at a time, except for `cancel`.
package final class MediaReader: @unchecked Sendable {  // owned by one thread at a time; `cancel` sets an atomic
    /// Decoded media.
    package enum Item: Sendable {
        case video(VideoFrame)
        case audio(AudioFrame)
    }

    /// The media of a reader that may return encoded frames.
    package enum Sample: Sendable {
        case frame(VideoFrame)
        /// H.264 or H.265 in Annex B, without B-frames. The first is a key frame, and every key frame contains parameter sets.
        case coded(EncodedFrame)
        case audio(AudioFrame)
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
    private let codecs: Set<Codec>
    private let deadline = ReadingDeadline(timeout: .seconds(10))
    private var input: MediaInput?
    private var video: DecodedTrack?
    private var audio: DecodedTrack?
    private var coded: (track: MediaTrack, video: CodedVideo)?
    private let frame = AVFrameHolder()
    private let converter = FrameConverter()
    private var audioFrames = AudioReading()
    private var waiting: [Sample] = []
    private var isDraining = false
    private var hasRead = false
    private var times = FrameTimes()
    /// Whether frames are discarded until a key frame, because decoding from the middle of a stream gives damaged
    /// frames.
    private var needsKeyFrame = false
    private var droppedBefore = 0

    /// The presented size in even numbers, from the header; nil without video.
    package private(set) var dimensions: Dimensions?
    /// The average frame rate; nil if it is unknown.
    package private(set) var frameRate: Double?
    /// The number of channels of the decoded audio; nil without audio.
    package private(set) var channels: Int?
    /// The duration; nil if it is infinite or unknown.
    package private(set) var duration: TimeSpan?
    /// The H.264 profile from the header; nil for another codec, or if it is unknown.
    package private(set) var profile: H264ProfileIDC?
    /// The reason why video is decoded although pass-through was requested; nil while it is passed through, or if it
    /// was not requested. It can change while reading: from the next key frame on, video is decoded.
    package private(set) var transcodeReason: TranscodeReason?

    /// The codec of the video that is passed through; nil if it is decoded.
    package var passedCodec: Codec? { coded?.video.codec }

    /// The number of encoded frames that were held back: damaged ones, and those that refer to them.
    package var droppedCount: Int { droppedBefore + (coded?.video.droppedCount ?? 0) }

    /// Opens a file or an address.
    ///
    /// - Parameters:
    ///   - uri: A path or an address, such as `film.mp4` or `rtsp://…`.
    ///   - name: The name for errors and logs; nil for the address without secrets.
    ///   - selection: The media types to read; others are discarded.
    ///   - passesThrough: Whether video is returned as encoded frames while that is possible. Read with `nextSample`
    ///     then.
    ///   - codecs: The codecs of video that is passed through, H.264 and H.265.
    /// - Throws: `CodecError.cannotOpen`, or `CodecError.noTrack` if there is neither video nor audio that can be
    ///   decoded.
    package init(
        uri: String, name: String? = nil, select selection: Set<MediaType> = [.video, .audio],
        passesThrough: Bool = false, codecs: Set<Codec> = [.h264]
    ) throws(CodecError) {
        AVLog.quiet()
        self.uri = uri
        self.name = name ?? MediaName.withoutSecrets(uri)
        self.selection = selection
        self.passesThrough = passesThrough
        self.codecs = codecs
        try open()
        guard video != nil || audio != nil || coded != nil else {
            throw .noTrack("“\(self.name)” contains neither video nor audio that can be decoded")
        }
    }

    /// Ends blocking calls, now and later. It can be called from any thread.
    package func cancel() { deadline.cancel() }

    private func open() throws(CodecError) {
        (video, audio, coded, input) = (nil, nil, nil, nil)
        let input: MediaInput
        do throws(MediaInputFailure) {
            input = try MediaInput(uri: uri, name: name, deadline: deadline)
        } catch {
            throw .cannotOpen(name, reason: error.reason)
        }
        self.input = input
        let frames = selection.contains(.video) ? input.bestTrack(AVMEDIA_TYPE_VIDEO) : nil
        let audioFrame = selection.contains(.audio) ? soundTrack(of: input, beside: frames) : nil
        if let frames { try openVideo(frames) }
        audio = try audioFrame.flatMap { track throws(CodecError) in try Self.decoded(track) }
        dimensions = video != nil || coded != nil ? frames?.dimensions : nil
        frameRate = dimensions == nil ? nil : frames.flatMap(input.frameRate)
        profile = dimensions == nil ? nil : frames.flatMap(CodedVideo.profile)
        if audio != nil { channels = AudioReading.channels }
        duration = input.duration
        input.select([video?.track, coded?.track, audio?.track].compactMap(\.self))
    }

    /// Returns the audio track. If no video is selected, the audio of the program with the best video is preferred,
    /// because another reader may read that video.
    private func soundTrack(of input: MediaInput, beside frames: MediaTrack?) -> MediaTrack? {
        guard !selection.contains(.video), let video = input.bestTrack(AVMEDIA_TYPE_VIDEO) else {
            return input.bestTrack(AVMEDIA_TYPE_AUDIO, beside: frames)
        }
        return input.bestTrack(AVMEDIA_TYPE_AUDIO, beside: video) ?? input.bestTrack(AVMEDIA_TYPE_AUDIO)
    }

    private func openVideo(_ track: MediaTrack) throws(CodecError) {
        // An obstacle that was found while reading remains after a rewind.
        if passesThrough, transcodeReason == nil {
            do throws(TranscodeReason) {
                coded = (track, try CodedVideo(track, codecs: codecs))
                return
            } catch {
                transcodeReason = error
            }
        }
        video = try Self.decoded(track)
    }

    private static func decoded(_ track: MediaTrack) throws(CodecError) -> DecodedTrack? {
        guard let decoder = try track.decoder() else { return nil }
        return DecodedTrack(track: track, decoder: decoder, geometry: track.geometry)
    }

    /// Starts again at the beginning. It opens the source again, because seeking is inexact in some formats, such as
    /// MPEG-TS. Throws `CodecError.cannotOpen` if an address cannot be read again.
    package func rewind() throws(CodecError) {
        droppedBefore = droppedCount
        waiting.removeAll()
        isDraining = false
        needsKeyFrame = false
        times = FrameTimes()
        // A new resampler contains no samples from the end of the previous pass.
        audioFrames = AudioReading()
        try open()
    }

    /// Returns the next decoded frame or audio; nil at the end. Throws `CodecError.damaged` if the source failed before
    /// its end. It must not be called for a reader that passes video through.
    package func next() throws(CodecError) -> Item? {
        switch try nextSample() {
        case nil: return nil
        case .frame(let videoFrame): return .video(videoFrame)
        case .audio(let audioFrame): return .audio(audioFrame)
        case .coded: preconditionFailure("coded video is read with nextSample")
        }
    }

    /// Returns the next encoded or decoded frame, or audio; nil at the end. Throws `CodecError.damaged` if the source
    /// failed before its end.
    package func nextSample() throws(CodecError) -> Sample? {
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
            if !hasRead, let transcodeReason = input.indexProblem {
                throw .cannotOpen(name, reason: transcodeReason)
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
            if !hasRead, let transcodeReason = input.indexProblem {
                throw .cannotOpen(name, reason: transcodeReason)
            }
            throw .damaged("reading “\(input.name)” failed: \(error.reason)")
        }
    }

    /// Passes an encoded frame through. If that is not possible, switches to decoding.
    private func pass(_ packet: UnsafeMutablePointer<AVPacket>, of input: MediaInput) throws(CodecError) {
        guard let track = coded?.track, var frames = coded?.video else { return }
        let timestamp = packet.pointee.pts == cffmpeg_no_timestamp() ? packet.pointee.dts : packet.pointee.pts
        let moment = track.moment(timestamp, of: input)
        do throws(TranscodeReason) {
            let frame = try frames.take(packet, moment: moment)
            coded = (track, frames)
            guard var frame else { return }
            frame.timestamp = times.next(moment, frameRate: frameRate)
            waiting.append(.coded(frame))
        } catch {
            droppedBefore += frames.droppedCount
            coded = nil
            transcodeReason = error
            needsKeyFrame = true
            video = try Self.decoded(track)
        }
    }

    /// Decodes a packet; nil drains the decoder. A packet that the decoder rejects is skipped, because the next one is
    /// often valid.
    private func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, _ track: DecodedTrack, isVideo: Bool
    ) throws(CodecError) {
        guard avcodec_send_packet(track.decoder.pointer, packet) >= 0 else { return }
        while avcodec_receive_frame(track.decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            let moment = input.flatMap { track.track.moment(frame.pointer.pointee.best_effort_timestamp, of: $0) }
            if isVideo {
                let timestamp = times.next(moment, frameRate: frameRate)
                let videoFrame = try converter.convert(
                    frame.pointer, geometry: track.geometry, captureTime: nil, timestamp: timestamp)
                waiting.append(.frame(videoFrame))
            } else if let audioFrame = try audioFrames.take(frame.pointer, moment: moment) {
                waiting.append(.audio(audioFrame))
            }
        }
    }
}

/// Assigns strictly increasing timestamps to frames, from their own timestamps or from the frame rate.
struct FrameTimes {
    private var last: Int64?

    /// Returns the timestamp of the next frame. Its own time is in microseconds since the start; nil if it has none. An
    /// unknown frame rate (nil) counts as 25.
    mutating func next(_ timestamp: Int64?, frameRate: Double?) -> MediaTime {
        let following = last.map { $0 + Int64(90_000 / max(1, frameRate ?? 25)) } ?? 0
        var ticks = timestamp.map { ClockRate.video.ticks(in: .microseconds($0)) } ?? following
        if let last { ticks = max(ticks, last + 1) }
        last = ticks
        return MediaTime(ticks: ticks, rate: .video)
    }
}

/// Converts the decoded audio of a file to stereo at 48 kHz, with contiguous timestamps.
struct AudioReading {
    static let channels = 2

    private let resampler = AudioResampler(channels: AudioReading.channels)
    private var next: Int64?

    /// The largest difference, in samples (50 ms), between a timestamp and the sample count that counts as rounding.
    private static let tolerance: Int64 = 2_400

    /// Converts decoded audio. Returns nil if the resampler has no output yet. Throws `CodecError` if the audio cannot
    /// be converted. The moment is in microseconds since the start; nil if the audio has no timestamp.
    mutating func take(_ audio: UnsafeMutablePointer<AVFrame>, moment: Int64?) throws(CodecError) -> AudioFrame? {
        let samples = try resampler.resample(audio)
        guard !samples.isEmpty else { return nil }
        let ticks = moment.map { ClockRate.opus.ticks(in: .microseconds($0)) }
        // The sample count is more accurate than rounded timestamps, as long as both agree.
        var start = ticks ?? next ?? 0
        if let next, let ticks, abs(ticks - next) < Self.tolerance { start = next }
        next = start + Int64(samples.count / Self.channels)
        return AudioFrame(
            samples: samples, channels: Self.channels, captureTime: nil,
            timestamp: MediaTime(ticks: start, rate: .opus))
    }
}
