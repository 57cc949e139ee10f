import CFFmpeg
package import PCastCore

/// Decodes one track of each medium of a presentation from any sequence of files and segments. A change of format
/// replaces the decoder; an equal format continues. Only one thread may use it at a time.
package final class PresentationDecoder: @unchecked Sendable {  // owned by one thread at a time
    private var frames: FrameDecoding?
    private var audioFrames: AudioDecoding?
    private var texts: TextDecoding?
    private let converter = FrameConverter()
    private var beginning: TimeSpan
    private var audioBeginning: TimeSpan
    /// The last frame that was returned before the same frames are decoded again; nil if there is none.
    private var shown: TimeSpan?

    /// Creates a decoder that returns nothing before a position.
    package init(from beginning: TimeSpan = .zero) {
        AVLog.quiet()
        (self.beginning, audioBeginning) = (beginning, beginning)
    }

    /// Continues at another position. It discards all content, and returns nothing before the position. The audio
    /// starts at `audio` if that is not nil.
    package func begin(at position: TimeSpan, audio: TimeSpan? = nil) {
        (beginning, audioBeginning, shown) = (position, audio ?? position, nil)
        frames?.begin(at: position)
        audioFrames?.begin(at: audioBeginning)
        texts?.begin(at: position)
    }

    /// Continues at the same position with packets that repeat earlier ones, e.g., of another variant. Nothing is
    /// returned twice.
    ///
    /// - Parameters:
    ///   - frame: The start of the last frame that was returned; nil for none.
    ///   - first: The start of the first repeated frame; nil if no repeated frame was decoded.
    ///   - audio: The end of the audio that was returned; nil if audio is not repeated.
    /// - Returns: The frames in the decoder that are not repeated.
    /// - Throws: `CodecError` if a frame cannot be converted.
    package func begin(
        behind frame: TimeSpan?, before first: TimeSpan?, audio: TimeSpan?
    ) throws(CodecError) -> [PresentationSample] {
        var samples: [PresentationSample] = []
        try frames?.decode(nil, into: &samples)
        if let first { samples.removeAll { $0.start >= first } }
        shown = samples.last?.start ?? frame ?? shown
        if let shown { frames?.begin(behind: shown) } else { frames?.begin(at: beginning) }
        if let audio {
            audioBeginning = audio
            audioFrames?.begin(at: audio)
        }
        return samples
    }

    /// Continues with the following packets, but returns nothing before the position.
    package func skip(to position: TimeSpan) {
        (beginning, audioBeginning, shown) = (position, position, nil)
        frames?.skip(to: position)
        audioFrames?.skip(to: position)
        texts?.skip(to: position)
    }

    /// Discards the decoder of a medium before packets of another track come.
    package func discard(_ medium: PresentationMedium) {
        switch medium {
        case .video: frames = nil
        case .audio: audioFrames = nil
        case .text: texts = nil
        case .metadata: break
        }
    }

    /// Decodes a packet and returns its samples in presentation order. Damaged packets give no samples. Throws
    /// `CodecError` if no decoder can be opened or a frame cannot be converted.
    package func decode(_ packet: CodedPacket) throws(CodecError) -> [PresentationSample] {
        var samples: [PresentationSample] = []
        try decode(packet.holder.pointer, packet.format, into: &samples)
        return samples
    }

    /// Decodes a packet with times in `CodedFormat.timeBase`, and adds its samples.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>, _ format: CodedFormat,
        into samples: inout [PresentationSample]
    ) throws(CodecError) {
        switch format.medium {
        case .video:
            if frames.map({ !$0.format.isAlike(format) }) ?? true {
                try frames?.decode(nil, into: &samples)
                frames = try FrameDecoding(format, converter: converter, beginning: beginning)
                if let shown { frames?.begin(behind: shown) }
            }
            try frames?.decode(packet, into: &samples)
        case .audio:
            if audioFrames.map({ !$0.format.isAlike(format) }) ?? true {
                try audioFrames?.decode(nil, into: &samples)
                audioFrames = try AudioDecoding(format, beginning: audioBeginning)
            }
            try audioFrames?.decode(packet, into: &samples)
        case .text:
            if texts.map({ !$0.format.isAlike(format) }) ?? true {
                texts = try TextDecoding(format, beginning: beginning)
            }
            texts?.decode(packet, into: &samples)
        case .metadata:
            let bytes = UnsafeRawBufferPointer(
                start: packet.pointee.data, count: Int(max(0, packet.pointee.size)))
            let position = TimeSpan.microseconds(packet.pointee.pts)
            guard packet.pointee.pts != cffmpeg_no_timestamp(), position >= beginning else { return }
            samples.append(.metadata(TimedID3.tags(in: bytes), at: position))
        }
    }

    /// Returns the remaining samples at the end. Throws `CodecError` if a frame cannot be converted.
    package func drain() throws(CodecError) -> [PresentationSample] {
        var samples: [PresentationSample] = []
        try frames?.decode(nil, into: &samples)
        try frames?.giveHeld(&samples)
        try audioFrames?.decode(nil, into: &samples)
        (frames, audioFrames) = (nil, nil)
        return samples
    }
}

/// A decoded unit of a presentation with its position.
package enum PresentationSample: Sendable {
    /// A frame, with its duration if it is known.
    case frame(VideoFrame, at: TimeSpan, duration: TimeSpan?)
    /// Audio at 48 kHz with two channels.
    case audio(AudioFrame, at: TimeSpan)
    /// Plain text with line feeds, and the time for which it is shown.
    case text(String, ClosedRange<TimeSpan>)
    /// Timed metadata as in the container: consecutive ID3 tags.
    case metadata([UInt8], at: TimeSpan)
}

/// Restores the ID3 tags in packets of a timed ID3 track. A packet contains one or more tags.
///
/// MPEG-TS segments of HLS carry tags directly ("Timed Metadata for HTTP Live Streaming", section 2) in streams of type
/// 0x15. Other streams put a header of five bytes before them (metadata access unit; ISO/IEC 13818-1, section 2.12.4).
/// libavformat 59 always removes five bytes. For HLS, these are the first bytes of the tag, which are reconstructed
/// here from the rest.
enum TimedID3 {
    private static let mark = Array("ID3".utf8)
    /// The bytes of a tag that libavformat removes: the mark, the version and the revision.
    private static let lostSize = 5
    /// The rest of a tag's header: the flags and the size.
    private static let restSize = 5

    /// Returns the complete tags of a packet; the packet as it is if it contains none.
    static func tags(in packet: UnsafeRawBufferPointer) -> [UInt8] {
        if packet.starts(with: mark) { return Array(packet) }
        let behindHeader = packet.dropFirst(lostSize)
        if behindHeader.starts(with: mark) { return Array(behindHeader) }
        let sizeBytes = packet.dropFirst(1).prefix(4)
        guard packet.count > restSize, sizeBytes.allSatisfy({ $0 < 0x80 }) else { return Array(packet) }
        let size = sizeBytes.reduce(0) { $0 << 7 | Int($1) }
        let body = packet.dropFirst(restSize)
        guard size <= body.count else { return Array(packet) }
        let version: UInt8 = hasFrames(body.prefix(size), bitsOfSize: 7) ? 4 : 3
        return mark + [version, 0] + packet
    }

    /// Returns whether frames and padding fill a tag. Frame sizes have seven bits per byte in ID3v2.4 and eight in
    /// ID3v2.3.
    private static func hasFrames(_ body: Slice<UnsafeRawBufferPointer>, bitsOfSize: Int) -> Bool {
        var rest = body
        while rest.count >= 10, rest.first != 0 {
            let bytes = rest.dropFirst(4).prefix(4)
            let size = bytes.reduce(0) { $0 << bitsOfSize | Int($1) }
            guard bytes.allSatisfy({ Int($0) < 1 << bitsOfSize }), size <= rest.count - 10 else { return false }
            rest = rest.dropFirst(10 + size)
        }
        return rest.allSatisfy { $0 == 0 }
    }
}

/// Decodes the audio of a presentation from an exact sample on.
final class AudioDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private let frame = AVFrameHolder()
    private var reading = AudioReading()
    private var beginning: Int64

    /// Opens the decoder. Returns nil if the format has none.
    init?(_ format: CodedFormat, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder) = (format, decoder)
        self.beginning = ClockRate.opus.ticks(in: beginning)
    }

    /// Discards the decoder's content.
    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        reading = AudioReading()
        beginning = ClockRate.opus.ticks(in: position)
    }

    /// Returns no more audio before the position, but keeps the decoder's content.
    func skip(to position: TimeSpan) { beginning = ClockRate.opus.ticks(in: position) }

    /// Decodes a packet and adds the resulting audio; nil drains the decoder. Throws `CodecError` if the audio cannot
    /// be converted.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, into samples: inout [PresentationSample]
    ) throws(CodecError) {
        guard avcodec_send_packet(decoder.pointer, packet) >= 0 else { return }
        while avcodec_receive_frame(decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            let timestamp = frame.pointer.pointee.best_effort_timestamp
            let moment = timestamp == cffmpeg_no_timestamp() ? nil : timestamp
            guard let audio = try reading.take(frame.pointer, moment: moment), let rest = trimmed(audio)
            else {
                continue
            }
            samples.append(.audio(rest, at: rest.timestamp.span))
        }
    }

    /// Returns the part of the audio after the start position; nil if there is none.
    private func trimmed(_ audio: AudioFrame) -> AudioFrame? {
        let early = beginning - audio.timestamp.ticks
        guard early > 0 else { return audio }
        guard early < audio.sampleCount else { return nil }
        return AudioFrame(
            samples: Array(audio.samples.dropFirst(Int(early) * audio.channels)),
            channels: audio.channels,
            captureTime: nil, timestamp: MediaTime(ticks: beginning, rate: .opus))
    }
}

/// Decodes the subtitles of a presentation to plain text.
final class TextDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private var beginning: TimeSpan

    /// The duration of a text if neither the packet nor the container gives one.
    private static let defaultDuration = TimeSpan.seconds(4 as Int64)

    /// Opens the decoder. Returns nil if the format has none.
    init?(_ format: CodedFormat, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder, self.beginning) = (format, decoder, beginning)
    }

    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        beginning = position
    }

    func skip(to position: TimeSpan) { beginning = position }

    func decode(_ packet: UnsafeMutablePointer<AVPacket>, into samples: inout [PresentationSample]) {
        var subtitle = AVSubtitle()
        var isThere: Int32 = 0
        guard avcodec_decode_subtitle2(decoder.pointer, &subtitle, &isThere, packet) >= 0, isThere != 0
        else { return }
        defer { avsubtitle_free(&subtitle) }
        guard packet.pointee.pts != cffmpeg_no_timestamp() else { return }
        let start = TimeSpan.microseconds(packet.pointee.pts)
        let duration =
            packet.pointee.duration > 0 ? .microseconds(packet.pointee.duration) : Self.defaultDuration
        let lines = (0..<Int(subtitle.num_rects)).compactMap { index -> String? in
            guard let rectangle = subtitle.rects[index] else { return nil }
            if let dialogue = rectangle.pointee.ass {
                return SubtitleText.plain(dialogue: String(cString: dialogue))
            }
            return rectangle.pointee.text.map { String(cString: $0) }
        }
        guard start + duration > beginning else { return }
        samples.append(.text(lines.joined(separator: "\n"), start...(start + duration)))
    }
}

/// Converts libavcodec's subtitles, which are ASS dialogue lines for every input format, to plain text. A dialogue has
/// eight fields before the text, and formatting in braces.
enum SubtitleText {
    static func plain(dialogue: String) -> String {
        let fields = dialogue.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
        var text = ""
        var isOverride = false
        var isEscape = false
        for character in fields.count == 9 ? fields[8] : "" {
            if isEscape {
                isEscape = false
                switch character {
                case "N", "n": text.append("\n")
                case "h": text.append(" ")
                default: text.append("\\\(character)")
                }
            } else if isOverride {
                isOverride = character != "}"
            } else if character == "{" {
                isOverride = true
            } else if character == "\\" {
                isEscape = true
            } else {
                text.append(character)
            }
        }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
