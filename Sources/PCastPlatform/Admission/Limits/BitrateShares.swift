import PCastMedia

/// What each publisher may send, of what all may, those of an application, and those at an address: as much as the others
/// beside it.
struct BitrateShares: Sendable {
    private struct Publisher {
        let application: ApplicationID
        /// Nil for who counts at no address.
        let block: AddressBlock?
    }

    private var publishers: [StreamID: Publisher] = [:]
    private var applications: [ApplicationID: Int64] = [:]
    private var blocks: [AddressBlock: Int64] = [:]
    private var wasLimited = false

    /// A stream of which no more than this were left would be none.
    static let least: Int64 = 64_000

    /// The limit by which there is no share for one more; nil where there is one.
    func exceeded(
        _ application: ApplicationID, _ block: AddressBlock?, in limits: PlatformLimits
    ) -> PlatformLimits.Name? {
        let share = Self.share(
            Int64(publishers.count) + 1, applications[application, default: 0] + 1,
            block.map { blocks[$0, default: 0] + 1 }, limits)
        return share.flatMap { $0.bits < Self.least ? $0.limit : nil }
    }

    mutating func enter(_ stream: StreamID, _ application: ApplicationID, _ block: AddressBlock?) {
        publishers[stream] = Publisher(application: application, block: block)
        applications[application, default: 0] += 1
        if let block { blocks[block, default: 0] += 1 }
    }

    mutating func leave(_ stream: StreamID) {
        guard let publisher = publishers.removeValue(forKey: stream) else { return }
        applications[publisher.application] = Self.less(applications[publisher.application])
        if let block = publisher.block { blocks[block] = Self.less(blocks[block]) }
    }

    private static func less(_ count: Int64?) -> Int64? { count.flatMap { $0 > 1 ? $0 - 1 : nil } }

    /// Of each stream, when there are limits, or have been until now.
    mutating func changes(by limits: PlatformLimits) -> [StreamID: Bitrate?] {
        let isLimited = PlatformLimits.Name.allCases.contains { $0.isBitrate && limits[$0] > 0 }
        defer { wasLimited = isLimited }
        return isLimited || wasLimited ? shares(in: limits) : [:]
    }

    /// Of each stream; nil where nothing limits it.
    func shares(in limits: PlatformLimits) -> [StreamID: Bitrate?] {
        publishers.mapValues { publisher in
            Self.share(
                Int64(publishers.count), applications[publisher.application] ?? 1,
                publisher.block.map { blocks[$0] ?? 1 }, limits
            ).map { Bitrate(bitsPerSecond: $0.bits) }
        }
    }

    /// - Parameters: how many there are in all, of its application and at its address.
    /// - Returns: the smallest share, and what limits it; nil where nothing does.
    private static func share(
        _ all: Int64, _ application: Int64, _ block: Int64?, _ limits: PlatformLimits
    ) -> (bits: Int64, limit: PlatformLimits.Name)? {
        let bounds: [(limit: PlatformLimits.Name, count: Int64?)] = [
            (.bitrate, all), (.bitratePerApplication, application), (.bitratePerAddress, block), (.bitratePerStream, 1),
        ]
        return bounds.compactMap { limit, count in
            guard let count, limits[limit] > 0 else { return nil }
            return (limits[limit] / max(count, 1), limit)
        }.min { $0.bits < $1.bits }
    }
}
