package import PCastCore

/// Divides an H.264 access unit into RTP payloads (RFC 6184).
///
/// In packetization mode 1, consecutive units that fit in one packet are aggregated in a STAP-A, so that the parameter
/// sets precede the IDR picture with the same timestamp. Larger units are divided into FU-As of equal size. In mode 0
/// each NAL unit is a packet. Access unit delimiters and filler data are omitted, because a receiver does not need
/// them.
package struct H264Packetizer {
    /// The `packetization-mode` (RFC 6184, sections 6.2 and 6.3).
    package enum Mode: Int, Sendable {
        /// Each NAL unit is a packet.
        case singleUnit = 0
        /// Units may be aggregated or fragmented.
        case nonInterleaved = 1
    }

    private let bytes: ByteView
    /// The maximum size of a payload in bytes.
    private let maximumPayloadSize: Int
    private let mode: Mode
    /// The reader of the NAL units.
    private var reader: AnnexBReader

    /// The next unit; the rest of it if ``fragmentSize`` is not 0.
    private var unit: Range<Int>?
    /// The header of the fragmented unit.
    private var unitHeader: UInt8 = 0
    /// The size of a fragment in bytes; 0 if no unit is being fragmented.
    private var fragmentSize = 0
    /// Whether the next fragment is the first.
    private var isFirstFragment = false

    /// The number of units that could not be sent: larger than a packet in mode 0, or of a type that RTP reserves.
    package private(set) var droppedUnits = 0

    /// Creates a packetizer for an access unit.
    ///
    /// - Parameters:
    ///   - accessUnit: The access unit in Annex B format, which must be valid until ``next(into:)`` has returned nil.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes.
    ///   - mode: The negotiated packetization mode.
    package init(
        accessUnit: ByteView,
        maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize, mode: Mode = .nonInterleaved
    ) {
        precondition(
            maximumPayloadSize >= PayloadPacketizer.smallestMaximumPayloadSize, "the payload limit is too small")
        bytes = accessUnit
        // The size of a unit in a STAP-A has 16 bits.
        self.maximumPayloadSize = min(maximumPayloadSize, Int(UInt16.max))
        self.mode = mode
        reader = AnnexBReader(accessUnit)
        advance()
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        guard let current = unit else { return nil }
        if fragmentSize > 0 { return nextFragment(of: current, into: buffer) }
        if current.count > maximumPayloadSize {
            beginFragments(of: current)
            return nextFragment(of: unit!, into: buffer)
        }
        advance()
        if mode == .nonInterleaved, let following = unit, fits(following, after: 3 + current.count) {
            return aggregate(startingWith: current, into: buffer)
        }
        buffer.copyMemory(from: bytes.extracting(current))
        return PayloadPacket(length: current.count, isLast: unit == nil)
    }

    /// Advances to the next unit that can be sent.
    private mutating func advance() {
        fragmentSize = 0
        while let candidate = reader.next() {
            let type = bytes[candidate.lowerBound] & H264NALUnit.typeMask
            if type == H264NALUnit.accessUnitDelimiter || type == H264NALUnit.fillerData { continue }
            if H264NALUnit.isSpecified(type), mode != .singleUnit || candidate.count <= maximumPayloadSize {
                unit = candidate
                return
            }
            droppedUnits += 1
        }
        unit = nil
    }

    /// Returns whether a unit fits into a STAP-A after a number of bytes.
    private func fits(_ candidate: Range<Int>, after length: Int) -> Bool {
        length + 2 + candidate.count <= maximumPayloadSize
    }

    /// Writes a STAP-A (RFC 6184, section 5.7.1): its NRI is the maximum of its units, and its F bit is set if one of
    /// theirs is.
    private mutating func aggregate(
        startingWith first: Range<Int>, into buffer: MutableByteView
    ) -> PayloadPacket {
        var length = 1
        var reference: UInt8 = 0
        var forbidden: UInt8 = 0
        var current = first
        while true {
            let header = bytes[current.lowerBound]
            reference = max(reference, header & H264NALUnit.referenceMask)
            forbidden |= header & H264NALUnit.forbiddenBit
            buffer.storeBytes(of: UInt16(current.count).bigEndian, toByteOffset: length, as: UInt16.self)
            buffer.extracting((length + 2)...).copyMemory(from: bytes.extracting(current))
            length += 2 + current.count
            guard let following = unit, fits(following, after: length) else { break }
            current = following
            advance()
        }
        buffer[0] = forbidden | reference | H264NALUnit.stapA
        return PayloadPacket(length: length, isLast: unit == nil)
    }

    /// Begins the fragmentation of a unit.
    private mutating func beginFragments(of whole: Range<Int>) {
        unitHeader = bytes[whole.lowerBound]
        unit = whole.dropFirst()
        fragmentSize = FragmentPlan(total: whole.count - 1, maximumSize: maximumPayloadSize - 2).size
        isFirstFragment = true
    }

    /// Writes an FU-A (RFC 6184, section 5.8).
    private mutating func nextFragment(
        of rest: Range<Int>, into buffer: MutableByteView
    ) -> PayloadPacket {
        let fragment = rest.prefix(fragmentSize)
        let isEnd = fragment.count == rest.count
        buffer[0] = unitHeader & ~H264NALUnit.typeMask | H264NALUnit.fuA
        buffer[1] =
            unitHeader & H264NALUnit.typeMask | (isFirstFragment ? H264NALUnit.fragmentStart : 0)
            | (isEnd ? H264NALUnit.fragmentEnd : 0)
        buffer.extracting(2...).copyMemory(from: bytes.extracting(fragment))
        isFirstFragment = false
        if isEnd { advance() } else { unit = fragment.upperBound..<rest.upperBound }
        return PayloadPacket(length: 2 + fragment.count, isLast: unit == nil)
    }
}

extension H264ParameterSets {
    /// Returns payloads that contain all sets (RFC 6184).
    ///
    /// - Parameter aggregates: Whether the peer accepts several units in a packet (`packetization-mode=1`).
    /// - Returns: The payloads.
    func payloads(aggregates: Bool) -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        var group: [[UInt8]] = []
        var size = 1
        func finish() {
            guard group.count > 1 else { return payloads += group }
            // The NRI of a STAP-A is the maximum of its units (RFC 6184, section 5.7.1).
            let reference = group.reduce(0) { max($0, $1[0] & H264NALUnit.referenceMask) }
            payloads.append(
                group.reduce(into: [reference | H264NALUnit.stapA]) { payload, unit in
                    payload += [UInt8(unit.count >> 8), UInt8(truncatingIfNeeded: unit.count)] + unit
                })
        }
        for unit in inOrder {
            if !group.isEmpty, !aggregates || size + 2 + unit.count > Self.maximumSize {
                finish()
                group.removeAll()
                size = 1
            }
            group.append(unit)
            size += 2 + unit.count
        }
        finish()
        return payloads
    }
}
