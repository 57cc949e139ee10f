package import PCastCore

/// The dependency descriptor of a packet in a ``PacketLog``, with what is needed to rewrite it for each viewer. The bytes
/// of a descriptor with extended fields are in the log after the payload.
package struct LoggedDescriptor: Hashable, Sendable {
    /// The size in bytes; 0 if the packet has no descriptor.
    package private(set) var size: UInt8 = 0
    /// The first byte: whether the packet begins and ends a frame, and the template.
    let first: UInt8
    /// The number of the frame modulo 2^16 that the source sent.
    package let frameNumber: UInt16
    /// Whether the descriptor contains the template structure.
    let hasStructure: Bool
    /// The number of decode targets.
    let targetCount: UInt8
    /// The number of the structure modulo ``DecodeTargets/capacity``.
    let structure: UInt8
    /// The offset in bits at which the active decode targets are, or are inserted.
    let targetsOffset: UInt16
    /// The offset of the end of the last field in bits.
    let end: UInt16
    /// The decode targets that the source sends, as bits.
    let activeTargets: UInt32

    /// The largest size of a descriptor in bytes, because the element of a header extension has one byte for it.
    package static let maximumSize = 255

    /// No descriptor.
    package static let none = LoggedDescriptor()

    private init() {
        (first, frameNumber, hasStructure, targetCount, structure) = (0, 0, false, 0, 0)
        (targetsOffset, end, activeTargets) = (0, 0, 0)
    }

    /// Creates the entry of a descriptor that was parsed.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - bytes: Its bytes.
    ///   - targetCount: The number of decode targets of its structure.
    ///   - structure: The number of the structure.
    ///   - activeTargets: The decode targets that the source sends.
    init(
        _ descriptor: DependencyDescriptor, _ bytes: ByteView, targetCount: Int, structure: Int, activeTargets: UInt32
    ) {
        size = UInt8(bytes.count)
        first = bytes[0]
        frameNumber = descriptor.frameNumber
        hasStructure = descriptor.structure != nil
        self.targetCount = UInt8(targetCount)
        self.structure = UInt8(structure & (DecodeTargets.capacity - 1))
        targetsOffset = UInt16(descriptor.targetsOffset)
        end = UInt16(descriptor.end)
        self.activeTargets = activeTargets
    }

    /// Whether the packet has a descriptor.
    @inline(__always)
    package var exists: Bool { size > 0 }
    /// Whether the descriptor consists of the mandatory fields, which are part of this value.
    @inline(__always)
    var isShort: Bool { size == UInt8(DependencyDescriptor.mandatorySize) }
    /// The number of bytes that a log keeps after the payload.
    @inline(__always)
    var storedSize: Int { size > UInt8(DependencyDescriptor.mandatorySize) ? Int(size) : 0 }
}

/// The decode targets of the last structures of a source, by the operating point that contains them.
package struct DecodeTargets: Sendable {
    /// The number of structures, a power of two. An older structure is overwritten.
    static let capacity = 4
    private static let temporalCount = 8
    private static let pointCount = 4 * temporalCount

    /// The decode targets of each structure and operating point, as bits.
    private var masks = InlineArray<128, UInt32>(repeating: 0)
    /// The number of the newest structure; 0 before the first one.
    package private(set) var newest = 0

    /// Notes a structure.
    package mutating func note(_ structure: DependencyStructure, number: Int) {
        newest = number
        let start = (number & (Self.capacity - 1)) * Self.pointCount
        for index in 0..<Self.pointCount {
            let point = OperatingPoint(
                spatial: UInt8(index / Self.temporalCount), temporal: UInt8(index % Self.temporalCount))
            var mask: UInt32 = 0
            for (target, layers) in structure.layers.enumerated() where point.contains(layers) {
                mask |= 1 << UInt32(target)
            }
            masks[start + index] = mask
        }
    }

    /// Returns the decode targets of a packet's structure that an operating point contains, as bits.
    func mask(of descriptor: LoggedDescriptor, within point: OperatingPoint) -> UInt32 {
        let row = Int(min(point.spatial, 3)) * Self.temporalCount + Int(min(point.temporal, 7))
        return masks[Int(descriptor.structure) * Self.pointCount + row]
    }
}

/// A dependency descriptor as one viewer receives it: with the viewer's frame number, and its decode targets.
///
/// The template structure and the fields of the frame are copied bit by bit, which only key frames and frames without a
/// suitable template need. It refers to the bytes of a log, and is used before the log changes.
package struct OutgoingDescriptor {
    private let logged: LoggedDescriptor
    /// The bytes that the source sent; empty if the descriptor is short.
    private let source: ByteView
    private let frameNumber: UInt16
    /// The active decode targets to be written; nil to leave them as they are.
    private let activeTargets: UInt32?

    /// Creates a descriptor.
    ///
    /// - Parameters:
    ///   - logged: The entry of the packet.
    ///   - source: The bytes that the source sent; empty if the descriptor is short.
    ///   - frameNumber: The number of the frame for the receiver.
    ///   - activeTargets: The active decode targets to be written; nil to leave them as they are.
    package init(_ logged: LoggedDescriptor, source: ByteView, frameNumber: UInt16, activeTargets: UInt32?) {
        self.logged = logged
        self.source = source
        self.frameNumber = frameNumber
        self.activeTargets = activeTargets
    }

    private var hasTargets: Bool {
        source.count > DependencyDescriptor.mandatorySize
            && source[DependencyDescriptor.mandatorySize] & UInt8(DependencyDescriptor.Flag.activeTargets << 3) != 0
    }

    /// The offset in bits of the fields after the active decode targets of the source.
    private var restOffset: Int { Int(logged.targetsOffset) + (hasTargets ? Int(logged.targetCount) : 0) }

    /// The size in bytes; more than ``LoggedDescriptor/maximumSize`` if it cannot be sent.
    var size: Int {
        guard activeTargets != nil else { return Int(logged.size) }
        return (Int(logged.targetsOffset) + Int(logged.targetCount) + Int(logged.end) - restOffset + 7) / 8
    }

    /// Writes the descriptor, which has ``size`` bytes.
    func write(into buffer: MutableByteView, at offset: Int) {
        let target = buffer.extracting(offset..<offset + size)
        if activeTargets == nil { target.copyMemory(from: source) }
        target[0] = logged.first
        target.storeBigEndian(frameNumber, at: 1)
        guard let activeTargets else { return }
        var writer = BitWriter(target, offset: DependencyDescriptor.mandatorySize)
        let flags =
            logged.isShort
            ? 0 : UInt32(source[DependencyDescriptor.mandatorySize] >> (8 - UInt8(DependencyDescriptor.flagCount)))
        writer.append(flags | DependencyDescriptor.Flag.activeTargets, bits: DependencyDescriptor.flagCount)
        let start = 8 * DependencyDescriptor.mandatorySize + DependencyDescriptor.flagCount
        writer.append(source, start..<Int(logged.targetsOffset))
        writer.append(activeTargets, bits: Int(logged.targetCount))
        writer.append(source, restOffset..<Int(logged.end))
        writer.finish()
    }

    /// Returns the bytes of a descriptor with the mandatory fields only, and perhaps the active decode targets, from the
    /// most significant byte on, and their number.
    @inline(__always)
    static func short(
        _ logged: LoggedDescriptor, frameNumber: UInt16, activeTargets: UInt32?
    ) -> (bytes: UInt64, size: Int) {
        let start = UInt64(logged.first) << 56 | UInt64(frameNumber) << 40
        guard let activeTargets else { return (start, DependencyDescriptor.mandatorySize) }
        let count = UInt64(logged.targetCount)
        let bits = UInt64(DependencyDescriptor.Flag.activeTargets) << 35 | UInt64(activeTargets) << (35 - count)
        return (
            start | bits, DependencyDescriptor.mandatorySize + (DependencyDescriptor.flagCount + Int(count) + 7) / 8
        )
    }
}

/// Writes bits, the most significant one of each byte first.
private struct BitWriter {
    private let buffer: MutableByteView
    private var offset: Int
    /// The bits that are not written yet, fewer than eight.
    private var pending: UInt64 = 0
    private var pendingCount = 0

    /// Creates a writer at the offset of a byte.
    init(_ buffer: MutableByteView, offset: Int) {
        self.buffer = buffer
        self.offset = offset
    }

    /// Appends the low bits of a value, up to 32.
    mutating func append(_ value: UInt32, bits count: Int) {
        pending = pending << UInt64(count) | UInt64(value) & (1 << UInt64(count) - 1)
        pendingCount += count
        while pendingCount >= 8 {
            pendingCount -= 8
            buffer[offset] = UInt8(truncatingIfNeeded: pending >> UInt64(pendingCount))
            offset += 1
        }
    }

    /// Appends a range of bits of other bytes.
    mutating func append(_ source: ByteView, _ range: Range<Int>) {
        var position = range.lowerBound
        while position < range.upperBound {
            let (byte, bit) = (position >> 3, position & 7)
            let count = min(8 - bit, range.upperBound - position)
            append(UInt32(source[byte] >> UInt8(8 - bit - count)), bits: count)
            position += count
        }
    }

    /// Fills the last byte with zeros.
    mutating func finish() { if pendingCount > 0 { append(0, bits: 8 - pendingCount) } }
}

extension DependencyDescriptor {
    /// Writes the descriptor of a key frame with the structure of an earlier one, because the packet lacks it.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the descriptor.
    ///   - earlier: The bytes of a descriptor with the structure.
    ///   - earlierEnd: The offset in bits of the end of that structure.
    ///   - targetCount: The number of decode targets.
    ///   - activeTargets: The active decode targets.
    ///   - buffer: The buffer.
    /// - Returns: The size in bytes; nil if it does not fit.
    func complete(
        _ bytes: ByteView, with earlier: ByteView, upTo earlierEnd: Int, targetCount: Int, activeTargets: UInt32,
        into buffer: MutableByteView
    ) -> Int? {
        let start = 8 * Self.mandatorySize + Self.flagCount
        let rest = targetsOffset + (self.activeTargets == nil ? 0 : targetCount)
        let size = (earlierEnd + targetCount + end - rest + 7) / 8
        guard size <= min(buffer.count, LoggedDescriptor.maximumSize) else { return nil }
        buffer.copyMemory(from: bytes.extracting(0..<Self.mandatorySize))
        var writer = BitWriter(buffer, offset: Self.mandatorySize)
        let flags =
            bytes.count > Self.mandatorySize ? UInt32(bytes[Self.mandatorySize] >> (8 - UInt8(Self.flagCount))) : 0
        writer.append(flags | Flag.structure | Flag.activeTargets, bits: Self.flagCount)
        writer.append(earlier, start..<earlierEnd)
        writer.append(activeTargets, bits: targetCount)
        writer.append(bytes, rest..<end)
        writer.finish()
        return size
    }
}
