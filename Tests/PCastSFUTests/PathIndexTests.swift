import PCastCore
import Testing

@testable import PCastSFU

@Suite("Assignment of paths to peers")
struct PathIndexTests {
    private var index = PathIndex()
    private let paths = (1...4).map { number in
        NetworkPath(local: TransportAddress("127.0.0.1:9")!, remote: TransportAddress("192.0.2.\(number):5000")!)
    }

    init() { for (number, path) in paths.prefix(3).enumerated() { index[path] = .viewer(number) } }

    private mutating func expect(_ wanted: [NetworkPath]) -> [PeerIndex] {
        var known: [PeerIndex] = []
        wanted.withUnsafeBufferPointer { index.expect(from: Span(_unsafeElements: $0)) { known.append($0) } }
        return known
    }

    @Test("expected paths are reported, and found in any order and any number of times")
    mutating func order() {
        #expect(expect(paths) == [.viewer(0), .viewer(1), .viewer(2)])
        for number in [1, 1, 0, 2, 2] { #expect(index.findPeer(of: paths[number]) == .viewer(number)) }
        #expect(index.findPeer(of: paths[3]) == nil)
        #expect(expect([]) == [])
        #expect(index.findPeer(of: paths[0]) == .viewer(0))
    }

    @Test("changes after `expect` are effective: another peer, no peer, and a new path")
    mutating func changes() {
        #expect(expect(paths).count == 3)
        index[paths[0]] = .publisher(7)
        #expect(index.findPeer(of: paths[0]) == .publisher(7))
        #expect(expect(paths).count == 3)
        #expect(index.removeValue(forKey: paths[1]) == .viewer(1))
        #expect(index.findPeer(of: paths[1]) == nil)
        #expect(expect(paths).count == 2)
        index[paths[2]] = nil
        index[paths[3]] = .viewer(9)
        #expect(index.findPeer(of: paths[2]) == nil && index.findPeer(of: paths[3]) == .viewer(9))
        // A path that was expected and not used has no effect on the next lookups.
        #expect(expect([paths[3]]) == [.viewer(9)])
        #expect(index.findPeer(of: paths[0]) == .publisher(7))
    }

    @Test("paths that differ in local address or transport are different")
    mutating func kinds() {
        var other = paths[0]
        other.local.port = 10
        var stream = paths[0]
        stream.transport = .tcp(connection: 1)
        index[other] = .viewer(20)
        index[stream] = .viewer(21)
        #expect(expect([stream, paths[0], other]) == [.viewer(21), .viewer(0), .viewer(20)])
        #expect(index.peerIndex(of: other) == .viewer(20))
        #expect(index.findPeer(of: paths[0]) == .viewer(0))
        #expect(index.peerIndex(of: stream) == .viewer(21))
    }
}
