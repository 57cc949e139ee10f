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
    package var pictureID: VPXPictureID?

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
            pictureID = VPXPictureID(UInt16(first), width: .short)
            size += 1
            return true
        }
        guard size + 1 < payload.count else { return false }
        pictureID = VPXPictureID(UInt16(first & 0x7F) << 8 | UInt16(payload[size + 1]), width: .long)
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
        pictureID: VPXPictureID?, tl0PictureIndex: UInt8?, into buffer: MutableByteView
    ) -> Int {
        var copy = self
        if copy.pictureID != nil, let pictureID { copy.pictureID = pictureID }
        if copy.tl0PictureIndex != nil, let tl0PictureIndex { copy.tl0PictureIndex = tl0PictureIndex }
        return copy.write(into: buffer)
    }

    /// Replaces the numbers in a copy of the payload from which the descriptor was parsed. The size does not change.
    func replaceNumbers(by offset: VPXPictureOffset, in buffer: MutableByteView) {
        guard buffer.count >= Self.maximumSize else { return }
        var changed = self
        changed.pictureID = pictureID.map { VPXPictureID($0.value &+ offset.pictureID, width: $0.width) }
        changed.tl0PictureIndex = tl0PictureIndex.map { $0 &+ offset.tl0PictureIndex }
        // If a descriptor has flags without fields, the written one would be shorter, and the VP8 data would have to
        // move.
        guard changed.writtenSize == size else { return }
        _ = changed.write(into: buffer)
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
