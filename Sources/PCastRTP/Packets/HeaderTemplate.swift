import PCastCore

/// The header of a stream's packets as it was written last. Only the fields that differ between packets are written for
/// each packet, instead of all extensions.
struct HeaderTemplate {
    /// The maximum size of an extension block in bytes.
    static let capacity = 64
    /// The maximum size of a dependency descriptor in bytes.
    static let maximumDescriptorSize = 8

    /// Creates an empty template, which must not be written. An optional template would be copied by each access.
    init() {
        size = 0
        playoutDelay = nil
        transportSequenceNumberOffset = nil
        absoluteSendTimeOffset = nil
        hasExtensions = false
        countsPackets = false
        descriptor = 0..<0
        block = InlineArray(repeating: 0)
    }

    /// The size of the whole header in bytes; 0 for an empty template.
    let size: Int
    /// The playout delay in the header. A packet with another one needs another template.
    let playoutDelay: PlayoutDelay?
    /// The offset of the transport-wide sequence number, which each packet has; nil if it is not sent.
    private let transportSequenceNumberOffset: Int?
    /// The offset of the absolute send time, which each packet has; nil if it is not sent.
    private let absoluteSendTimeOffset: Int?
    /// The range of the dependency descriptor; empty for none. A packet with one of another size needs another template.
    private let descriptor: Range<Int>
    private let hasExtensions: Bool
    /// Whether packets have a transport-wide sequence number.
    let countsPackets: Bool
    /// The size of the dependency descriptor in bytes, at most ``maximumDescriptorSize``; 0 for none.
    @inline(__always)
    var descriptorSize: Int { descriptor.count }
    private var block: InlineArray<8, UInt64>

    /// Creates a template from a header at the beginning of a buffer. Returns nil if the extension block or the
    /// dependency descriptor is too long.
    ///
    /// - Precondition: The buffer has at least ``minimumBufferSize`` bytes.
    ///
    /// - Parameters:
    ///   - layout: The layout of the header.
    ///   - playoutDelay: The playout delay in the header; nil for none.
    ///   - countsPackets: Whether packets have a transport-wide sequence number.
    ///   - buffer: The buffer.
    init?(
        _ layout: RTPHeaderLayout, playoutDelay: PlayoutDelay?, countsPackets: Bool,
        in buffer: MutableByteView
    ) {
        let length = layout.size - RTPHeader.fixedSize
        guard length >= 0, length <= Self.capacity, layout.descriptor.count <= Self.maximumDescriptorSize else {
            return nil
        }
        precondition(buffer.count >= Self.minimumBufferSize, "the buffer is too small for the header")
        size = layout.size
        self.playoutDelay = playoutDelay
        self.countsPackets = countsPackets
        transportSequenceNumberOffset = layout.transportSequenceNumberOffset
        absoluteSendTimeOffset = layout.absoluteSendTimeOffset
        descriptor = layout.descriptor
        hasExtensions = length > 0
        // If the header is shorter, bytes after it are copied as well; the payload overwrites them in each packet.
        block = InlineArray(repeating: 0)
        for word in 0..<8 {
            block[word] = buffer.loadUnaligned(fromByteOffset: RTPHeader.fixedSize + 8 * word, as: UInt64.self)
        }
    }

    /// The minimum size of a buffer for a header.
    static let minimumBufferSize = RTPHeader.fixedSize + capacity

    /// Writes a header into a buffer of at least ``minimumBufferSize`` bytes, of which those after the header are overwritten.
    /// It is `mutating` to avoid a copy of the template.
    @inline(__always)
    mutating func write(
        marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32,
        transportSequenceNumber: UInt16, sendTime: AbsoluteSendTime, descriptor bytes: UInt64,
        into buffer: MutableByteView
    ) {
        precondition(buffer.count >= Self.minimumBufferSize, "the buffer is too small for an RTP header")
        // The size is a constant, so that the bounds of most fields are checked when this is compiled.
        let start = buffer.extracting(0..<Self.minimumBufferSize)
        let first = UInt32(hasExtensions ? 0x90 : 0x80) << 24
        let second = UInt32(payloadType | (marker ? 0x80 : 0)) << 16
        start.storeBytes(of: (first | second | UInt32(sequenceNumber)).bigEndian, toByteOffset: 0, as: UInt32.self)
        start.storeBytes(of: timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
        start.storeBytes(of: ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
        // Writing word by word avoids a function call for a short copy.
        for word in 0..<8 {
            start.storeBytes(of: block[word], toByteOffset: RTPHeader.fixedSize + 8 * word, as: UInt64.self)
        }
        if let offset = transportSequenceNumberOffset {
            start.storeBytes(of: transportSequenceNumber.bigEndian, toByteOffset: offset, as: UInt16.self)
        }
        if let offset = absoluteSendTimeOffset { start.storeBigEndian24(sendTime.rawValue, at: offset) }
        var rest = bytes
        for offset in descriptor {
            start[offset] = UInt8(truncatingIfNeeded: rest >> 56)
            rest <<= 8
        }
    }
}
