/// The descriptor that begins every VP8 payload (RFC 7741, section 4.2).
public struct VP8PayloadDescriptor: Hashable, Sendable {
    static let extensionBit: UInt8 = 0x80
    static let nonReferenceBit: UInt8 = 0x20
    static let startBit: UInt8 = 0x10
    static let partitionMask: UInt8 = 0x0F
    static let pictureIDBit: UInt8 = 0x80
    static let tl0PictureIndexBit: UInt8 = 0x40
    static let temporalIDBit: UInt8 = 0x20
    static let keyIndexBit: UInt8 = 0x10
    static let longPictureIDBit: UInt8 = 0x80

    /// N: no other frame refers to this one.
    public var isNonReference = false

    /// S: the payload begins a partition.
    public var startsPartition = false

    /// PID.
    public var partitionIndex: UInt8 = 0

    /// I.
    public var pictureID: VP8PictureID?

    /// L: counts the frames of the lowest temporal layer.
    public var tl0PictureIndex: UInt8?

    /// T: the temporal layer.
    public var temporalID: UInt8?

    /// Y: refers to the lowest temporal layer only, so a receiver may step up here.
    public var isLayerSync = false

    /// K: of temporally the latest key frame.
    public var keyIndex: UInt8?

    /// The bytes of the descriptor; the VP8 payload begins there.
    public private(set) var size = 1

    /// Whether the payload begins a frame, and that is a key frame: S, PID 0, and the P bit of the frame clear (RFC
    /// 7741, section 4.3).
    public private(set) var startsKeyFrame = false

    /// Whether the payload begins a frame.
    public var startsFrame: Bool { startsPartition && partitionIndex == 0 }

    /// A descriptor of one byte that says nothing.
    public init() {}

    /// Nil when the payload ends within the descriptor.
    public static func parse(_ payload: Span<UInt8>) -> VP8PayloadDescriptor? {
        guard !payload.isEmpty else { return nil }
        var descriptor = VP8PayloadDescriptor()
        descriptor.isNonReference = payload[0] & nonReferenceBit != 0
        descriptor.startsPartition = payload[0] & startBit != 0
        descriptor.partitionIndex = payload[0] & partitionMask
        if payload[0] & extensionBit != 0, !descriptor.parseExtensions(payload) { return nil }
        if descriptor.startsFrame, descriptor.size < payload.count {
            descriptor.startsKeyFrame = payload[descriptor.size] & 1 == 0
        }
        return descriptor
    }

    private mutating func parseExtensions(_ payload: Span<UInt8>) -> Bool {
        guard payload.count >= 2 else { return false }
        let flags = payload[1]
        size = 2
        if flags & Self.pictureIDBit != 0, !parsePictureID(payload) { return false }
        if flags & Self.tl0PictureIndexBit != 0 {
            guard size < payload.count else { return false }
            tl0PictureIndex = payload[size]
            size += 1
        }
        if flags & (Self.temporalIDBit | Self.keyIndexBit) != 0 {
            guard size < payload.count else { return false }
            let byte = payload[size]
            size += 1
            if flags & Self.temporalIDBit != 0 {
                temporalID = byte >> 6
                isLayerSync = byte & 0x20 != 0
            }
            if flags & Self.keyIndexBit != 0 { keyIndex = byte & 0x1F }
        }
        return true
    }

    private mutating func parsePictureID(_ payload: Span<UInt8>) -> Bool {
        guard size < payload.count else { return false }
        let first = payload[size]
        guard first & Self.longPictureIDBit != 0 else {
            pictureID = VP8PictureID(UInt16(first), width: .short)
            size += 1
            return true
        }
        guard size + 1 < payload.count else { return false }
        pictureID = VP8PictureID(UInt16(first & 0x7F) << 8 | UInt16(payload[size + 1]), width: .long)
        size += 2
        return true
    }

    /// Writes the descriptor anew with other numbers, for one receiver's packet beside the shared payload, which
    /// follows from `size` of the original on (RTP7, RTP13, SW5).
    ///
    /// - Parameters:
    ///   - pictureID: written in its own width, so the descriptor may become longer or shorter; nil, and a frame that
    ///     had none, leave that as it was.
    ///   - tl0PictureIndex: likewise.
    ///   - buffer: at least `maximumSize` bytes.
    /// - Returns: the bytes written.
    public func rewrite(
        pictureID: VP8PictureID?, tl0PictureIndex: UInt8?, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var copy = self
        if copy.pictureID != nil, let pictureID { copy.pictureID = pictureID }
        if copy.tl0PictureIndex != nil, let tl0PictureIndex { copy.tl0PictureIndex = tl0PictureIndex }
        return copy.write(into: buffer)
    }

    /// The longest descriptor.
    public static let maximumSize = 6

    /// How long the descriptor is when written.
    var writtenSize: Int {
        let size =
            (pictureID?.size ?? 0) + (tl0PictureIndex == nil ? 0 : 1)
            + (temporalID == nil && keyIndex == nil ? 0 : 1)
        return size == 0 ? 1 : size + 2
    }

    /// Writes the descriptor and answers its size; `buffer` has `maximumSize` bytes.
    public func write(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        precondition(buffer.count >= Self.maximumSize, "no room for a VP8 payload descriptor")
        buffer[0] =
            (isNonReference ? Self.nonReferenceBit : 0) | (startsPartition ? Self.startBit : 0)
            | partitionIndex & Self.partitionMask
        var flags: UInt8 = 0
        var length = 2
        if let pictureID {
            flags |= Self.pictureIDBit
            if pictureID.width == .long {
                buffer[length] = Self.longPictureIDBit | UInt8(truncatingIfNeeded: pictureID.value >> 8)
                length += 1
            }
            buffer[length] = UInt8(truncatingIfNeeded: pictureID.value)
            length += 1
        }
        if let tl0PictureIndex {
            flags |= Self.tl0PictureIndexBit
            buffer[length] = tl0PictureIndex
            length += 1
        }
        if temporalID != nil || keyIndex != nil {
            flags |= (temporalID == nil ? 0 : Self.temporalIDBit) | (keyIndex == nil ? 0 : Self.keyIndexBit)
            buffer[length] = (temporalID ?? 0) << 6 | (isLayerSync ? 0x20 : 0) | (keyIndex ?? 0) & 0x1F
            length += 1
        }
        guard flags != 0 else { return 1 }
        buffer[0] |= Self.extensionBit
        buffer[1] = flags
        return length
    }
}
