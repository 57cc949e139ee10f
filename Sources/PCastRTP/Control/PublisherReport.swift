public import PCastMedia

/// What a publisher says of itself beside its sender reports, so that what it keeps back of its own accord is not taken
/// for the network's doing: an application-defined packet of PCast's own (RFC 3550, section 6.7), named `PCPR`.
///
/// Behind the name come a byte of flags (1 video is withheld, 2 sound is withheld, 4 video is cut), three bytes of zero,
/// and two numbers of 32 bits in kilobits a second: what it would send if it could, and what congestion control lets
/// through; 0 where it does not know. It goes with each of the publisher's reports.
public struct PublisherReport: Hashable, Sendable {
    /// It sends no pictures as it wants to send none: a track that is muted, a camera that is closed.
    public var isVideoWithheld: Bool
    public var isAudioWithheld: Bool
    /// It sends no pictures as its congestion control leaves no room for them.
    public var isVideoCut: Bool
    /// What it would send were there room for it, all tracks together and on the wire.
    public var wanted: Bitrate?
    /// What its uplink carries, as it finds out.
    public var estimate: Bitrate?

    static let name: UInt32 = 0x50_43_50_52
    /// Behind the name.
    static let size = 12

    public init(
        isVideoWithheld: Bool = false, isAudioWithheld: Bool = false, isVideoCut: Bool = false,
        wanted: Bitrate? = nil, estimate: Bitrate? = nil
    ) {
        self.isVideoWithheld = isVideoWithheld
        self.isAudioWithheld = isAudioWithheld
        self.isVideoCut = isVideoCut
        self.wanted = wanted
        self.estimate = estimate
    }

    /// Nil for another application's packet.
    init?(in datagram: Span<UInt8>, body: Range<Int>) {
        guard body.count >= 8 + Self.size, datagram.bigEndian32(at: body.lowerBound + 4) == Self.name else {
            return nil
        }
        let offset = body.lowerBound + 8
        let flags = datagram[offset]
        isVideoWithheld = flags & 1 != 0
        isAudioWithheld = flags & 2 != 0
        isVideoCut = flags & 4 != 0
        wanted = Self.bitrate(datagram.bigEndian32(at: offset + 4))
        estimate = Self.bitrate(datagram.bigEndian32(at: offset + 8))
    }

    private static func bitrate(_ kilobits: UInt32) -> Bitrate? { kilobits == 0 ? nil : .kilobits(Int64(kilobits)) }
}

extension RTCPWriter {
    /// What a publisher says of itself (24 bytes).
    public mutating func publisherReport(ssrc: UInt32, _ report: PublisherReport) {
        let body = begin(type: RTCPPacket.PacketType.application, count: 0, size: 8 + PublisherReport.size)
        buffer.storeBigEndian(ssrc, at: body)
        buffer.storeBigEndian(PublisherReport.name, at: body + 4)
        let flags: UInt8 =
            (report.isVideoWithheld ? 1 : 0) | (report.isAudioWithheld ? 2 : 0) | (report.isVideoCut ? 4 : 0)
        buffer.storeBigEndian(UInt32(flags) << 24, at: body + 8)
        buffer.storeBigEndian(Self.kilobits(report.wanted), at: body + 12)
        buffer.storeBigEndian(Self.kilobits(report.estimate), at: body + 16)
    }

    private static func kilobits(_ bitrate: Bitrate?) -> UInt32 {
        UInt32(min(max((bitrate?.bitsPerSecond ?? 0) / 1_000, 0), Int64(UInt32.max)))
    }
}
