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
