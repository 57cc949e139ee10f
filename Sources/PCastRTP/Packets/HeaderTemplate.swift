import PCastMedia

/// The header of a stream's packets as it was written last, but for what differs from one packet to the next: a few
/// stores instead of a walk through all extensions for each packet and viewer.
struct HeaderTemplate {
    /// Bytes of the longest extension block that is kept.
    static let capacity = 64

    /// Of none, which is written by nobody: an optional of so many bytes would be copied to look into it.
    init() {
        size = 0
        playoutDelay = nil
        transportSequenceNumberOffset = nil
        absoluteSendTimeOffset = nil
        hasExtensions = false
        countsPackets = false
        block = InlineArray(repeating: 0)
    }

    /// Bytes of the whole header; zero of none.
    let size: Int
    /// What the packets say of the playout delay; others need another template.
    let playoutDelay: PlayoutDelay?
    /// Where the two elements lie that are each packet's own; nil where they are not sent.
    private let transportSequenceNumberOffset: Int?
    private let absoluteSendTimeOffset: Int?
    private let hasExtensions: Bool
    /// Whether each packet has a number of the transport's.
    let countsPackets: Bool
    private var block: InlineArray<8, UInt64>

    /// Nil when the extension block is too long to be kept.
    ///
    /// - Precondition: the header stands at the beginning of a room of at least `roomSize` bytes.
    init?(
        _ layout: RTPHeaderLayout, playoutDelay: PlayoutDelay?, countsPackets: Bool,
        in room: UnsafeMutableRawBufferPointer
    ) {
        let length = layout.size - RTPHeader.fixedSize
        guard length >= 0, length <= Self.capacity else { return nil }
        precondition(room.count >= Self.roomSize, "no room for what is kept of a header")
        size = layout.size
        self.playoutDelay = playoutDelay
        self.countsPackets = countsPackets
        transportSequenceNumberOffset = layout.transportSequenceNumberOffset
        absoluteSendTimeOffset = layout.absoluteSendTimeOffset
        hasExtensions = length > 0
        // What stands behind a shorter header is kept too, and written over by the payload each time.
        block = room.loadUnaligned(fromByteOffset: RTPHeader.fixedSize, as: InlineArray<8, UInt64>.self)
    }

    /// The least room that a header is written into.
    static let roomSize = RTPHeader.fixedSize + capacity

    /// Writes a header into a room of at least `roomSize` bytes, of which those behind the header are spoilt. The template
    /// stays as it is; but what is asked for each packet is not asked of a copy.
    @inline(__always)
    mutating func write(
        marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32,
        transportSequenceNumber: UInt16, sendTime: AbsoluteSendTime, into room: UnsafeMutableRawBufferPointer
    ) {
        precondition(room.count >= Self.roomSize, "no room for an RTP header")
        let start = room.baseAddress!
        let first = UInt32(hasExtensions ? 0x90 : 0x80) << 24
        let second = UInt32(payloadType | (marker ? 0x80 : 0)) << 16
        start.storeBytes(of: (first | second | UInt32(sequenceNumber)).bigEndian, as: UInt32.self)
        start.storeBytes(of: timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
        start.storeBytes(of: ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
        // Word by word: a whole copy of so few is a call.
        for word in 0..<8 {
            start.storeBytes(of: block[word], toByteOffset: RTPHeader.fixedSize + 8 * word, as: UInt64.self)
        }
        if let offset = transportSequenceNumberOffset {
            start.storeBytes(of: transportSequenceNumber.bigEndian, toByteOffset: offset, as: UInt16.self)
        }
        if let offset = absoluteSendTimeOffset { room.storeBigEndian24(sendTime.rawValue, at: offset) }
    }
}
