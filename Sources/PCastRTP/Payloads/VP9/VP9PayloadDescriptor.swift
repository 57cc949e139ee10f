package import PCastCore

/// The descriptor at the beginning of each VP9 payload (RFC 9628, section 4.2). Parsing allocates nothing.
package struct VP9PayloadDescriptor: Hashable, Sendable {
    /// The bit I in the first byte: the picture ID follows.
    static let pictureIDBit: UInt8 = 0x80
    /// The bit P in the first byte.
    static let interPredictedBit: UInt8 = 0x40
    /// The bit L in the first byte: the layer indices follow.
    static let layersBit: UInt8 = 0x20
    /// The bit F in the first byte.
    static let flexibleBit: UInt8 = 0x10
    /// The bit B in the first byte.
    static let startBit: UInt8 = 0x08
    /// The bit E in the first byte.
    static let endBit: UInt8 = 0x04
    /// The bit V in the first byte: the scalability structure follows.
    static let structureBit: UInt8 = 0x02
    /// The bit Z in the first byte.
    static let notReferencedAboveBit: UInt8 = 0x01
    /// The bit M in the picture ID: it has 15 bits.
    static let longPictureIDBit: UInt8 = 0x80

    /// Whether the frame is predicted from an earlier frame (P).
    package let isInterPredicted: Bool
    /// Whether each frame names the frames that it refers to (F).
    package let isFlexible: Bool
    /// Whether the payload begins a frame of a layer (B).
    package let startsFrame: Bool
    /// Whether the payload ends a frame of a layer (E).
    package let endsFrame: Bool
    /// Whether no frame of a higher spatial layer refers to this one (Z).
    package let isNotReferencedAbove: Bool

    /// The picture ID (I); nil if absent.
    package private(set) var pictureID: VPXPictureID?
    /// The temporal layer (TID); nil if absent.
    package private(set) var temporalID: UInt8?
    /// Whether a receiver may switch to this or a higher temporal layer after this frame (U).
    package private(set) var isSwitchingPoint = false
    /// The spatial layer (SID); nil if absent, as in a stream with one layer.
    package private(set) var spatialID: UInt8?
    /// Whether the frame depends on the spatial layer below (D).
    package private(set) var dependsOnLowerLayer = false
    /// The number of the last frame in the lowest temporal layer, modulo 256 (TL0PICIDX); nil if absent, as in
    /// flexible mode.
    package private(set) var tl0PictureIndex: UInt8?
    /// The scalability structure (V); nil if absent.
    package private(set) var structure: VP9ScalabilityStructure?

    /// The size of the descriptor in bytes, and so the offset of the VP9 data in the payload.
    package private(set) var size = 1
    /// The offset of TL0PICIDX; nil if absent.
    private var tl0Offset: Int?

    /// Parses the descriptor of a payload. Returns nil if the payload is truncated.
    package static func parse(_ payload: Span<UInt8>) -> VP9PayloadDescriptor? {
        guard !payload.isEmpty else { return nil }
        var descriptor = VP9PayloadDescriptor(first: payload[0])
        return descriptor.parseFields(payload) ? descriptor : nil
    }

    private init(first: UInt8) {
        isInterPredicted = first & Self.interPredictedBit != 0
        isFlexible = first & Self.flexibleBit != 0
        startsFrame = first & Self.startBit != 0
        endsFrame = first & Self.endBit != 0
        isNotReferencedAbove = first & Self.notReferencedAboveBit != 0
    }

    /// Parses the optional fields. Returns false if the payload is truncated.
    private mutating func parseFields(_ payload: Span<UInt8>) -> Bool {
        if payload[0] & Self.pictureIDBit != 0 {
            guard size < payload.count else { return false }
            let first = payload[size]
            if first & Self.longPictureIDBit == 0 {
                pictureID = VPXPictureID(UInt16(first), width: .short)
                size += 1
            } else {
                guard size + 1 < payload.count else { return false }
                pictureID = VPXPictureID(UInt16(first & 0x7F) << 8 | UInt16(payload[size + 1]), width: .long)
                size += 2
            }
        }
        if payload[0] & Self.layersBit != 0, !parseLayers(payload) { return false }
        if isFlexible, isInterPredicted, !skipReferences(payload) { return false }
        if payload[0] & Self.structureBit != 0 {
            guard let structure = VP9ScalabilityStructure(payload, at: size) else { return false }
            self.structure = structure
            size += structure.size
        }
        return size <= payload.count
    }

    /// Parses the layer indices. Returns false if the payload is truncated.
    private mutating func parseLayers(_ payload: Span<UInt8>) -> Bool {
        guard size < payload.count else { return false }
        let byte = payload[size]
        temporalID = byte >> 5
        isSwitchingPoint = byte & 0x10 != 0
        spatialID = byte >> 1 & 7
        dependsOnLowerLayer = byte & 1 != 0
        size += 1
        guard !isFlexible else { return true }
        guard size < payload.count else { return false }
        tl0Offset = size
        tl0PictureIndex = payload[size]
        size += 1
        return true
    }

    /// Skips the reference indices, of which there are at most three. Returns false if there are more, or the payload
    /// is truncated.
    private mutating func skipReferences(_ payload: Span<UInt8>) -> Bool {
        for _ in 0..<3 {
            guard size < payload.count else { return false }
            size += 1
            if payload[size - 1] & 1 == 0 { return true }
        }
        return false
    }

    // MARK: Key frames

    /// Returns whether a payload may begin a key frame, from its first byte alone.
    @inline(__always)
    static func mayStartKeyFrame(_ first: UInt8) -> Bool {
        first & (startBit | interPredictedBit) == startBit
    }

    /// Returns the header of the key frame that the payload begins; nil if it begins none.
    ///
    /// A key frame begins with the lowest spatial layer, which is not predicted from earlier frames. Some senders
    /// never set P, and intra-only frames have none either, so that the header of the frame decides.
    package func keyFrame(in payload: Span<UInt8>) -> VP9FrameHeader? {
        guard startsFrame, !isInterPredicted, spatialID ?? 0 == 0, size < payload.count else { return nil }
        return VP9FrameHeader(keyFrame: payload.extracting(size..<payload.count))
    }

    // MARK: Other numbers

    /// Replaces the numbers in a copy of the payload from which the descriptor was parsed. The size does not change.
    func replaceNumbers(by offset: VPXPictureOffset, in buffer: MutableByteView) {
        guard buffer.count >= size else { return }
        if let pictureID {
            let number = VPXPictureID(pictureID.value &+ offset.pictureID, width: pictureID.width)
            if number.width == .long {
                buffer[1] = Self.longPictureIDBit | UInt8(truncatingIfNeeded: number.value >> 8)
                buffer[2] = UInt8(truncatingIfNeeded: number.value)
            } else {
                buffer[1] = UInt8(truncatingIfNeeded: number.value)
            }
        }
        if let tl0Offset, let tl0PictureIndex { buffer[tl0Offset] = tl0PictureIndex &+ offset.tl0PictureIndex }
    }
}

/// The spatial layers of a VP9 stream (RFC 9628, section 4.2.1).
package struct VP9ScalabilityStructure: Hashable, Sendable {
    /// The number of spatial layers, 1 to 8.
    package let layerCount: Int
    /// The size of the highest spatial layer; nil if absent.
    package let dimensions: Dimensions?
    /// The number of frames in a group; nil if absent.
    package let groupSize: Int?
    /// The size in bytes.
    let size: Int

    /// Parses the structure at an offset of a payload. Returns nil if it is truncated.
    init?(_ payload: Span<UInt8>, at start: Int) {
        guard start < payload.count else { return nil }
        let flags = payload[start]
        layerCount = Int(flags >> 5) + 1
        var offset = start + 1
        if flags & 0x10 != 0 {
            let last = offset + 4 * (layerCount - 1)
            guard last + 4 <= payload.count else { return nil }
            let width = Int(payload[last]) << 8 | Int(payload[last + 1])
            let height = Int(payload[last + 2]) << 8 | Int(payload[last + 3])
            let sides = 1...VP9FrameHeader.maximumSide
            let isPlausible = sides.contains(width) && sides.contains(height)
            dimensions = isPlausible ? Dimensions(width: width, height: height) : nil
            offset = last + 4
        } else {
            dimensions = nil
        }
        if flags & 0x08 != 0 {
            guard offset < payload.count else { return nil }
            let count = Int(payload[offset])
            offset += 1
            for _ in 0..<count {
                guard offset < payload.count else { return nil }
                offset += 1 + Int(payload[offset] >> 2 & 3)
            }
            groupSize = count
        } else {
            groupSize = nil
        }
        guard offset <= payload.count else { return nil }
        size = offset - start
    }
}

/// The uncompressed header of a VP9 key frame (VP9 bitstream specification 0.6, section 6.2).
package struct VP9FrameHeader: Hashable, Sendable {
    /// The maximum width and height that is accepted.
    static let maximumSide = 16_384

    /// The profile, 0 to 3.
    package let profile: UInt8
    /// The bits of a sample: 8, 10 or 12.
    package let bitDepth: UInt8
    /// The size of the video.
    package let dimensions: Dimensions
    /// The value of `color_space`, 0 to 7: 1 for BT.601, 2 for BT.709, 5 for BT.2020, 7 for RGB.
    package let colorSpace: UInt8
    /// Whether the samples use the full range.
    package let isFullRange: Bool
    /// Whether the chroma samples have half of the columns.
    package let hasHalfColumns: Bool
    /// Whether the chroma samples have half of the rows.
    package let hasHalfRows: Bool

    /// Parses a frame without payload descriptor. Returns nil if it does not begin a key frame.
    package init?(keyFrame frame: Span<UInt8>) {
        guard let profile = Self.profile(ofKeyFrame: frame) else { return nil }
        self.profile = profile
        // Frame marker, profile and the flags before the synchronization code have one byte, or 9 bits with profile 3.
        var reader = BitReader(offset: 0)
        _ = reader.bits(profile == 3 ? 9 : 8, frame)
        guard reader.bits(24, frame) == 0x49_83_42 else { return nil }
        bitDepth = profile < 2 ? 8 : reader.flag(frame) ? 12 : 10
        colorSpace = UInt8(reader.bits(3, frame))
        let isRGB = colorSpace == 7
        // Profiles 0 and 2 have 4:2:0 only, which RGB does not permit.
        guard !isRGB || profile & 1 == 1 else { return nil }
        isFullRange = isRGB || reader.flag(frame)
        if profile & 1 == 0 {
            (hasHalfColumns, hasHalfRows) = (true, true)
        } else {
            hasHalfColumns = !isRGB && reader.flag(frame)
            hasHalfRows = !isRGB && reader.flag(frame)
            // A reserved bit.
            _ = reader.bit(frame)
        }
        let width = Int(reader.bits(16, frame)) + 1
        let height = Int(reader.bits(16, frame)) + 1
        guard !reader.isExhausted, width <= Self.maximumSide, height <= Self.maximumSide else { return nil }
        dimensions = Dimensions(width: width, height: height)
    }

    /// Returns the format of the video.
    ///
    /// - Parameter size: The size of the highest of several spatial layers; nil if it is that of this frame.
    /// - Returns: The format.
    package func video(size: Dimensions?) -> CodecParameters {
        CodecParameters(.vp9(profile: profile), bitDepth: Int(bitDepth), dimensions: size ?? dimensions)
    }

    /// Returns the profile of a key frame; nil if the first byte does not begin one.
    private static func profile(ofKeyFrame frame: Span<UInt8>) -> UInt8? {
        var reader = BitReader(offset: 0)
        guard reader.bits(2, frame) == 2 else { return nil }
        let low = UInt8(reader.bit(frame))
        let profile = low | UInt8(reader.bit(frame)) << 1
        // The bit after profile 3 is reserved for further profiles.
        if profile == 3, reader.flag(frame) { return nil }
        // A repeated frame has no header, and only frame type 0 is a key frame.
        guard !reader.flag(frame), reader.bit(frame) == 0, !reader.isExhausted else { return nil }
        return profile
    }

    /// Returns whether the frame is a key frame according to its first bits.
    static func isKeyFrame(_ frame: ByteView) -> Bool { profile(ofKeyFrame: frame.span) != nil }
}
