import PCastCore
import Testing

@Suite struct DatagramBatchTests {
    private let path = NetworkPath(
        local: TransportAddress(ip: .loopbackV4, port: 1), remote: TransportAddress(ip: .loopbackV4, port: 2))

    @Test("datagrams are stored contiguously")
    func contiguousDatagrams() {
        var batch = DatagramBatch(byteCapacity: 8192, datagramCapacity: 4)
        #expect(batch.isEmpty == true)
        for bytes in [[1, 2, 3], [], [4]] as [[UInt8]] {
            let isIn = batch.append(bytes, to: path)
            #expect(isIn)
        }
        #expect(batch.count == 3 && batch.byteCount == 4)
        let entries = (0..<batch.count).map { batch[$0] }
        #expect(entries.map(\.offset) == [0, 3, 3] && entries.map(\.length) == [3, 0, 1])
        #expect(entries.allSatisfy { $0.path == path })
        let bytes = entries.map { Array(batch.bytes(of: $0)) }
        #expect(bytes == [[1, 2, 3], [], [4]])
        #expect(Array(batch.memory.prefix(4)) == [1, 2, 3, 4])
    }

    @Test("a batch is full when all its entries are used")
    func fullOfEntries() {
        var batch = DatagramBatch(byteCapacity: 65_536, datagramCapacity: 2)
        let answers = (0..<3).map { _ in batch.append([7], to: path) }
        #expect(answers == [true, true, false])
        #expect(batch.count == 2)
        #expect(batch.hasSpace == false)
        batch.removeAll()
        #expect(batch.isEmpty == true)
        #expect(batch.hasSpace == true)
        #expect(batch.byteCount == 0)
    }

    @Test("consecutive datagrams of one path are recognized")
    func consecutiveDatagramsOfOnePath() {
        var batch = DatagramBatch(byteCapacity: 65_536, datagramCapacity: 9)
        let other = NetworkPath(local: path.remote, remote: path.local)
        batch.commit(length: 10, to: path)
        batch.commitMore(length: 20)
        batch.commit(length: 30, to: path)
        batch.commit(length: 40, to: other)
        batch.commit(length: 50, to: path)
        let lengths = (0..<batch.count).map { batch.lengthOfMore($0) }
        #expect(lengths == [nil, 20, 30, nil, nil])
        let entries = (0..<batch.count).map { batch[$0] }
        #expect(entries.map(\.path) == [path, path, path, other, path])
        #expect(entries.map(\.offset) == [0, 10, 30, 60, 100])
    }

    @Test("a batch states whether several datagrams fit into it")
    func spaceForSeveralDatagrams() {
        var batch = DatagramBatch(byteCapacity: 8 * DatagramBatch.maximumDatagramSize, datagramCapacity: 9)
        #expect(batch.hasSpace(forAll: 100) == true, "an empty batch accepts any number of datagrams")
        batch.commit(length: 1, to: path)
        #expect(batch.hasSpace(forAll: 7) == true)
        #expect(batch.hasSpace(forAll: 8) == false, "there are too few bytes")
        for _ in 0..<5 { batch.commit(length: 1, to: path) }
        #expect(batch.hasSpace(forAll: 3) == true)
        #expect(batch.hasSpace(forAll: 4) == false, "there are too few entries")
    }

    @Test("a batch is full when the largest datagram does not fit")
    func fullOfBytes() {
        var batch = DatagramBatch(byteCapacity: DatagramBatch.maximumDatagramSize + 1, datagramCapacity: 9)
        let room = batch.reserve()
        #expect(room?.count == DatagramBatch.maximumDatagramSize)
        batch.commit(length: 1, to: path)
        #expect(batch.hasSpace == true)
        batch.commit(length: 1, to: path)
        let noRoom = batch.reserve()
        #expect(noRoom == nil)
    }
}
