import PCastMedia

/// The other shards, as one of them sees them: where their peers are, and what waits to be handed over to each.
struct Neighbours {
    /// Batches that a shard makes at most; what finds no room in them is lost, like a datagram, and counted.
    static let maximumBatches = 64

    let shard: Shard
    private let maximumPaths: Int
    /// The neighbour whose peer has passed a check on that path, or is asked there.
    private(set) var paths: [NetworkPath: Int] = [:]
    /// What is being filled, by neighbour.
    private var open: [ParcelBatch?]
    private var full: [(shard: Int, batch: ParcelBatch)] = []
    private var spare: [ParcelBatch] = []
    private var made = 0
    /// What found no room.
    private(set) var lost = 0

    /// - Parameter maximumPeers: of each shard.
    init(of shard: Shard, maximumPeers: Int) {
        self.shard = shard
        maximumPaths = shard.count * maximumPeers * 2
        open = Array(repeating: nil, count: shard.count)
    }

    var exist: Bool { !shard.isAlone }

    var others: some Sequence<Int> { (0..<shard.count).lazy.filter { [own = shard.number] in $0 != own } }

    // MARK: Paths

    mutating func note(_ path: NetworkPath, of neighbour: Int) {
        guard paths[path] != nil || paths.count < maximumPaths else { return }
        paths[path] = neighbour
    }

    mutating func forget(_ path: NetworkPath, of neighbour: Int) {
        if paths[path] == neighbour { paths[path] = nil }
    }

    // MARK: Parcels

    /// The batch of a neighbour's in which there is room for one more parcel; nil when there is none.
    private mutating func batch(for neighbour: Int, _ byteCount: Int) -> ParcelBatch? {
        if let batch = open[neighbour] {
            if batch.hasRoom(for: byteCount) { return batch }
            full.append((neighbour, batch))
            open[neighbour] = nil
        }
        if let batch = spare.popLast() {
            open[neighbour] = batch
        } else if made < Self.maximumBatches {
            made += 1
            open[neighbour] = ParcelBatch()
        } else {
            lost += 1
        }
        return open[neighbour]
    }

    mutating func give(_ parcel: ParcelBatch.Parcel, to neighbour: Int) {
        batch(for: neighbour, 0)?.append(parcel)
    }

    mutating func give(
        _ bytes: UnsafeRawBufferPointer, to neighbour: Int, as parcel: (Range<Int>) -> ParcelBatch.Parcel
    ) {
        guard let batch = batch(for: neighbour, bytes.count) else { return }
        batch.append(parcel(batch.copy(bytes)))
    }

    /// A batch that is to be brought to a neighbour; nil when there is none more.
    mutating func poll() -> (shard: Int, batch: ParcelBatch)? {
        if let first = full.first {
            full.removeFirst()
            return first
        }
        for neighbour in open.indices {
            guard let batch = open[neighbour], !batch.isEmpty else { continue }
            open[neighbour] = nil
            return (neighbour, batch)
        }
        return nil
    }

    /// A batch that this shard has made, and that was read.
    mutating func takeBack(_ batch: ParcelBatch) {
        batch.removeAll()
        spare.append(batch)
    }
}
