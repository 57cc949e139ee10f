import CFFmpeg
public import PCastMedia

/// Decodes the tracks of a presentation, one of each medium, from whatever files and segments they come: what is coded
/// alike goes on, what is coded otherwise gets another decoder. Used by one thread at a time.
public final class PresentationDecoder: @unchecked Sendable {  // owned by one thread at a time
    private var pictures: PictureDecoding?
    private var sounds: SoundDecoding?
    private var texts: TextDecoding?
    private let converter = PictureConverter()
    private var beginning: TimeSpan
    private var soundBeginning: TimeSpan
    /// The picture that was given out last before the same came again; nil where none was.
    private var shown: TimeSpan?

    /// - Parameter beginning: what lies before it is not given out.
    public init(from beginning: TimeSpan = .zero) {
        AVLog.quiet()
        (self.beginning, soundBeginning) = (beginning, beginning)
    }

    /// Goes on elsewhere: nothing of before is given out any more, and nothing that lies before the position.
    ///
    /// - Parameter sound: where the sound begins, if elsewhere.
    public func begin(at position: TimeSpan, sound: TimeSpan? = nil) {
        (beginning, soundBeginning, shown) = (position, sound ?? position, nil)
        pictures?.begin(at: position)
        sounds?.begin(at: soundBeginning)
        texts?.begin(at: position)
    }

    /// Goes on where it is with packets that come again, those of another variant perhaps: nothing that was given out is given
    /// out once more.
    ///
    /// - Parameters:
    ///   - picture: the one that was given out last; nil for none.
    ///   - first: the first of those that come again; nil where none of them was decoded.
    ///   - sound: the end of what was given out; nil where sound does not come again.
    /// - Returns: the pictures that are inside and do not come again.
    public func begin(
        behind picture: TimeSpan?, before first: TimeSpan?, sound: TimeSpan?
    ) throws(CodecError) -> [PresentationSample] {
        var samples: [PresentationSample] = []
        try pictures?.decode(nil, into: &samples)
        if let first { samples.removeAll { $0.start >= first } }
        shown = samples.last?.start ?? picture ?? shown
        if let shown { pictures?.begin(behind: shown) } else { pictures?.begin(at: beginning) }
        if let sound {
            soundBeginning = sound
            sounds?.begin(at: sound)
        }
        return samples
    }

    /// Goes on with what comes, but gives out nothing that lies before the position.
    public func skip(to position: TimeSpan) {
        (beginning, soundBeginning, shown) = (position, position, nil)
        pictures?.skip(to: position)
        sounds?.skip(to: position)
        texts?.skip(to: position)
    }

    /// Forgets what there is of a medium, because another track of it comes.
    public func forget(_ medium: PresentationMedium) {
        switch medium {
        case .picture: pictures = nil
        case .sound: sounds = nil
        case .text: texts = nil
        case .metadata: break
        }
    }

    /// - Returns: what comes of it, in the order of presentation of its medium; the text of a packet that cannot be decoded
    ///   is left out, as its picture and its sound are.
    public func decode(_ packet: CodedPacket) throws(CodecError) -> [PresentationSample] {
        var samples: [PresentationSample] = []
        try decode(packet.holder.pointer, packet.format, into: &samples)
        return samples
    }

    /// - Parameter packet: with times in `CodedFormat.timeBase`.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>, _ format: CodedFormat,
        into samples: inout [PresentationSample]
    ) throws(CodecError) {
        switch format.medium {
        case .picture:
            if pictures.map({ !$0.format.isAlike(format) }) ?? true {
                try pictures?.decode(nil, into: &samples)
                pictures = try PictureDecoding(format, converter: converter, beginning: beginning)
                if let shown { pictures?.begin(behind: shown) }
            }
            try pictures?.decode(packet, into: &samples)
        case .sound:
            if sounds.map({ !$0.format.isAlike(format) }) ?? true {
                try sounds?.decode(nil, into: &samples)
                sounds = try SoundDecoding(format, beginning: soundBeginning)
            }
            try sounds?.decode(packet, into: &samples)
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

    /// What is left inside, at the end.
    public func drain() throws(CodecError) -> [PresentationSample] {
        var samples: [PresentationSample] = []
        try pictures?.decode(nil, into: &samples)
        try pictures?.giveHeld(&samples)
        try sounds?.decode(nil, into: &samples)
        (pictures, sounds) = (nil, nil)
        return samples
    }
}
