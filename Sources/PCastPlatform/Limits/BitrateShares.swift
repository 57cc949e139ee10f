import PCastCore

/// The bit rate that each publisher may send. The limits of the platform, an application and an address are divided
/// equally among their publishers.
struct BitrateShares: Sendable {
    private struct Publisher {
        let application: ApplicationID
        /// Nil if the publisher does not count towards the limit of an address.
        let block: AddressBlock?
        /// The limit of the publisher's stream key in bits per second; nil for none.
        let own: Int64?
    }

    private var publishers: [StreamID: Publisher] = [:]
    private var applications: [ApplicationID: Int64] = [:]
    private var blocks: [AddressBlock: Int64] = [:]
    private var wasLimited = false

    /// The minimum share in bits per second. A stream with less would be unusable.
    static let least: Int64 = 64_000

    /// Returns the limit that leaves no share for another publisher; nil if there is a share.
    func exceeded(
        _ application: ApplicationID, _ block: AddressBlock?, in limits: PlatformLimits
    ) -> PlatformLimits.Name? {
        let share = Self.share(
            Int64(publishers.count) + 1, applications[application, default: 0] + 1,
            block.map { blocks[$0, default: 0] + 1 }, own: nil, limits)
        return share.flatMap { $0.bits < Self.least ? $0.limit : nil }
    }

    mutating func enter(
        _ stream: StreamID, _ application: ApplicationID, _ block: AddressBlock?, limit: Bitrate? = nil
    ) {
        publishers[stream] = Publisher(application: application, block: block, own: limit?.bitsPerSecond)
        applications[application, default: 0] += 1
        if let block { blocks[block, default: 0] += 1 }
    }

    mutating func leave(_ stream: StreamID) {
        guard let publisher = publishers.removeValue(forKey: stream) else { return }
        applications[publisher.application] = Self.less(applications[publisher.application])
        if let block = publisher.block { blocks[block] = Self.less(blocks[block]) }
    }

    private static func less(_ count: Int64?) -> Int64? { count.flatMap { $0 > 1 ? $0 - 1 : nil } }

    /// Returns the shares of all streams if a bit rate is limited now or was at the last call; otherwise an empty
    /// dictionary.
    mutating func changes(by limits: PlatformLimits) -> [StreamID: Bitrate?] {
        let isLimited =
            PlatformLimits.Name.allCases.contains { $0.isBitrate && limits[$0] > 0 }
            || publishers.values.contains { $0.own != nil }
        defer { wasLimited = isLimited }
        return isLimited || wasLimited ? shares(in: limits) : [:]
    }

    /// Returns the share of each stream; nil if it is not limited.
    func shares(in limits: PlatformLimits) -> [StreamID: Bitrate?] {
        publishers.mapValues { publisher in
            Self.share(
                Int64(publishers.count), applications[publisher.application] ?? 1,
                publisher.block.map { blocks[$0] ?? 1 }, own: publisher.own, limits
            ).map { Bitrate(bitsPerSecond: $0.bits) }
        }
    }

    /// Returns the smallest share and its limit, from the numbers of all publishers, of an application and at an
    /// address, and from the limit of the publisher's stream key; nil if nothing is limited.
    private static func share(
        _ all: Int64, _ application: Int64, _ block: Int64?, own: Int64?, _ limits: PlatformLimits
    ) -> (bits: Int64, limit: PlatformLimits.Name)? {
        let bounds: [(limit: PlatformLimits.Name, count: Int64?)] = [
            (.bitrate, all), (.bitratePerApplication, application), (.bitratePerAddress, block), (.bitratePerStream, 1),
        ]
        let shares: [(bits: Int64, limit: PlatformLimits.Name)] = bounds.compactMap { limit, count in
            guard let count, limits[limit] > 0 else { return nil }
            return (limits[limit] / max(count, 1), limit)
        }
        return (shares + (own.map { [($0, .bitratePerStream)] } ?? [])).min { $0.bits < $1.bits }
    }
}
