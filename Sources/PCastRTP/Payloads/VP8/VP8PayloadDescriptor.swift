package import PCastCore

/// The descriptor at the beginning of each VP8 payload (RFC 7741, section 4.2).
package struct VP8PayloadDescriptor: Hashable, Sendable {
    /// The bit X in the first byte: the extension byte follows.
    static let extensionBit: UInt8 = 0x80
    /// The bit N in the first byte.
    static let nonReferenceBit: UInt8 = 0x20
    /// The bit S in the first byte.
    static let startBit: UInt8 = 0x10
    /// The bits of the partition index in the first byte.
    static let partitionMask: UInt8 = 0x0F
    /// The bit I in the extension byte.
    static let pictureIDBit: UInt8 = 0x80
    /// The bit L in the extension byte.
    static let tl0PictureIndexBit: UInt8 = 0x40
    /// The bit T in the extension byte.
    static let temporalIDBit: UInt8 = 0x20
    /// The bit K in the extension byte.
    static let keyIndexBit: UInt8 = 0x10
    /// The bit M in the picture ID: it has 15 bits.
    static let longPictureIDBit: UInt8 = 0x80

    /// Whether no other frame refers to this one (N).
    package var isNonReference = false

    /// Whether the payload begins a partition (S).
    package var startsPartition = false

    /// The partition index (PID).
    package var partitionIndex: UInt8 = 0

    /// The picture ID (I); nil if absent.
    package var pictureID: VP8PictureID?

    /// The number of the last frame in the lowest temporal layer, modulo 256 (L); nil if absent.
    package var tl0PictureIndex: UInt8?

    /// The temporal layer (T); nil if absent.
    package var temporalID: UInt8?

    /// Whether the frame only refers to the lowest temporal layer, so that a receiver may switch to its layer here (Y).
    package var isLayerSync = false

    /// The number of the last key frame, modulo 32 (K); nil if absent.
    package var keyIndex: UInt8?

    /// The size of the descriptor in bytes, and so the offset of the VP8 data in the payload.
    package private(set) var size = 1

    /// Whether the payload begins a key frame: S is set, PID is 0, and the frame's P bit is 0 (RFC 7741, section 4.3).
    package private(set) var startsKeyFrame = false

    /// Whether the payload begins a frame.
    package var startsFrame: Bool { startsPartition && partitionIndex == 0 }

    /// Creates a descriptor of one byte without fields.
    package init() {}

    /// Parses the descriptor of a payload. Returns nil if the payload is truncated.
    package static func parse(_ payload: Span<UInt8>) -> VP8PayloadDescriptor? {
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

    /// Parses the optional fields. Returns false if the payload is truncated.
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

    /// Parses the picture ID. Returns false if the payload is truncated.
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

    /// Writes the descriptor with other numbers, for a packet to a single receiver.
    ///
    /// The VP8 data follows unchanged from ``size`` of the original payload on.
    ///
    /// - Parameters:
    ///   - pictureID: The picture ID, which is written with its own width. If it, or that of the original, is nil, the
    ///     original is kept.
    ///   - tl0PictureIndex: The index in the lowest temporal layer. If it, or that of the original, is nil, the
    ///     original is kept.
    ///   - buffer: A buffer of at least ``maximumSize`` bytes.
    /// - Returns: The size of the descriptor in bytes.
    package func rewrite(
        pictureID: VP8PictureID?, tl0PictureIndex: UInt8?, into buffer: MutableByteView
    ) -> Int {
        var copy = self
        if copy.pictureID != nil, let pictureID { copy.pictureID = pictureID }
        if copy.tl0PictureIndex != nil, let tl0PictureIndex { copy.tl0PictureIndex = tl0PictureIndex }
        return copy.write(into: buffer)
    }

    /// The maximum size of a descriptor in bytes.
    package static let maximumSize = 6

    /// The size of the descriptor that ``write(into:)`` writes in bytes.
    var writtenSize: Int {
        let size =
            (pictureID?.size ?? 0) + (tl0PictureIndex == nil ? 0 : 1)
            + (temporalID == nil && keyIndex == nil ? 0 : 1)
        return size == 0 ? 1 : size + 2
    }

    /// Writes the descriptor into a buffer of at least ``maximumSize`` bytes, and returns its size.
    package func write(into buffer: MutableByteView) -> Int {
        precondition(buffer.count >= Self.maximumSize, "the buffer is too small for a VP8 payload descriptor")
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

/// Assembles VP8 frames from RTP payloads (RFC 7741).
package struct VP8Depacketizer: Sendable {
    /// Whether nothing of the frame was lost or dropped.
    private var isIntact = true
    /// Whether the frame is a key frame.
    private var isKeyFrame = false
    /// Whether nothing was appended to the frame.
    private var isEmpty = true

    /// The number of payloads that were dropped because they violate the payload format.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer.
    package init() {}

    /// Appends a payload. The first one must begin the frame, and others must not.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        guard let descriptor = VP8PayloadDescriptor.parse(payload), descriptor.size < payload.count,
            descriptor.startsFrame == isEmpty
        else {
            malformedUnits += 1
            isIntact = false
            return
        }
        if isEmpty { isKeyFrame = descriptor.startsKeyFrame }
        isEmpty = false
        bytes.append(contentsOf: payload.extracting(descriptor.size..<payload.count))
    }

    /// Marks packets before the next payload as lost, so that the frame cannot be decoded.
    package mutating func packetsLost() { isIntact = false }

    /// Finishes the frame. Returns nil if it cannot be decoded.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer { (isIntact, isKeyFrame, isEmpty) = (true, false, true) }
        guard isIntact, !isEmpty else { return nil }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasSlice: true)
    }
}

/// The picture ID of a VP8 payload descriptor, which wraps around at its width of 7 or 15 bits (RFC 7741, section 4.2).
package struct VP8PictureID: Hashable, Sendable {
    /// The width in bits, which the sender chooses.
    package enum Width: Int, Sendable {
        /// Seven bits.
        case short = 7
        /// 15 bits.
        case long = 15
    }

    /// The number.
    package let value: UInt16
    /// The width.
    package let width: Width

    /// Creates a picture ID from the low bits of a value.
    package init(_ value: UInt16, width: Width) {
        self.value = value & Self.mask(width)
        self.width = width
    }

    /// Returns the bits of a width.
    private static func mask(_ width: Width) -> UInt16 { (1 << UInt16(width.rawValue)) - 1 }

    /// Returns the picture ID of the frame after a number of frames, with wraparound.
    package func advanced(by count: Int) -> VP8PictureID {
        VP8PictureID(UInt16(truncatingIfNeeded: Int(value) &+ count), width: width)
    }

    /// Returns the number of frames from another picture ID to this one, negative if this one is earlier; both must
    /// have the same width.
    package func distance(from earlier: VP8PictureID) -> Int {
        let difference = Int((value &- earlier.value) & Self.mask(width))
        let half = 1 << (width.rawValue - 1)
        return difference >= half ? difference - 2 * half : difference
    }

    /// The size in a descriptor in bytes.
    package var size: Int { width == .short ? 1 : 2 }
}

/// The value that is added to the numbers of VP8 frames, so that they continue after a switch to another layer.
public struct VP8PictureOffset: Hashable, Sendable {
    /// The value that is added to the picture ID.
    public var pictureID: UInt16 = 0
    /// The value that is added to the index in the lowest temporal layer.
    public var tl0PictureIndex: UInt8 = 0

    /// Creates an offset of zero.
    package init() {}

    /// Creates the offset that makes one frame follow another.
    ///
    /// - Parameters:
    ///   - last: The last descriptor that the receiver got.
    ///   - next: The next descriptor from another layer, with its original numbers.
    package init(continuing last: VP8PayloadDescriptor, with next: VP8PayloadDescriptor) {
        if let end = last.pictureID, let start = next.pictureID { pictureID = end.value &+ 1 &- start.value }
        if let end = last.tl0PictureIndex, let start = next.tl0PictureIndex { tl0PictureIndex = end &+ 1 &- start }
    }

    /// Whether the numbers stay unchanged.
    @inlinable @inline(__always)
    public var isZero: Bool { pictureID == 0 && tl0PictureIndex == 0 }

    /// Returns a descriptor with the changed numbers.
    package func applied(to descriptor: VP8PayloadDescriptor) -> VP8PayloadDescriptor {
        var changed = descriptor
        changed.pictureID = descriptor.pictureID.map { VP8PictureID($0.value &+ pictureID, width: $0.width) }
        changed.tl0PictureIndex = descriptor.tl0PictureIndex.map { $0 &+ tl0PictureIndex }
        return changed
    }

    /// Copies a payload with changed numbers; its size does not change. A payload that is not VP8 is copied unchanged.
    package func copy(_ payload: ByteView, into buffer: MutableByteView) {
        buffer.copyMemory(from: payload)
        guard !isZero, buffer.count >= VP8PayloadDescriptor.maximumSize,
            let descriptor = VP8PayloadDescriptor.parse(payload.span)
        else { return }
        // If a descriptor has flags without fields, the written one would be shorter, and the VP8 data would have to
        // move.
        let changed = applied(to: descriptor)
        guard changed.writtenSize == descriptor.size else { return }
        _ = changed.write(into: buffer)
    }
}
