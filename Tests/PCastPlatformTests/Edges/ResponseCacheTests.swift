import PCastCore
import Testing

@testable import PCastPlatform

@Suite("The cache of an edge") struct ResponseCacheTests {
    private typealias Cache = ResponseCache<Int, String>
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let overhead = Cache.overhead

    /// Reserves space for content and keeps it. Returns false if there is no space.
    private static func add(
        _ key: Int, bytes: Int, to cache: inout Cache, expires: Instant? = nil
    ) -> Bool {
        guard cache.reserve(bytes) else { return false }
        cache.insert("\(key)", for: key, reserved: bytes, bytes: bytes, expires: expires)
        return true
    }

    private static func reserve(_ bytes: Int, in cache: inout Cache) -> Bool { cache.reserve(bytes) }

    @Test("the content that was not used for the longest time is removed first")
    func order() {
        var cache = Cache(capacity: 3 * (100 + Self.overhead))
        for key in 1...3 { #expect(Self.add(key, bytes: 100, to: &cache)) }
        #expect(cache.content(of: 1, at: Self.start) == "1")
        #expect(Self.add(4, bytes: 100, to: &cache))
        #expect(cache.content(of: 2, at: Self.start) == nil)
        for key in [1, 3, 4] { #expect(cache.content(of: key, at: Self.start) == "\(key)") }
        #expect(cache.size == 3 * (100 + Self.overhead))
    }

    @Test("content that is being received uses the space, and the size is never exceeded")
    func reserved() {
        var cache = Cache(capacity: 2_000)
        #expect(Self.add(1, bytes: 400, to: &cache))
        #expect(Self.reserve(1_500, in: &cache))
        #expect(cache.content(of: 1, at: Self.start) == nil)
        #expect(!Self.reserve(501, in: &cache))
        #expect(Self.reserve(500, in: &cache))
        cache.release(2_000)
        #expect(cache.size == 0)
        #expect(!Self.reserve(2_001, in: &cache))
        // Content without space for its entry is not kept.
        #expect(Self.add(2, bytes: 1_900, to: &cache))
        #expect(cache.size == 0 && cache.count == 0)
    }

    @Test("content is valid until it expires, and unused content that has expired uses no space")
    func expiry() {
        var cache = Cache(capacity: 10_000)
        let end = Self.start + .milliseconds(50)
        for key in 1...2 { #expect(Self.add(key, bytes: 10, to: &cache, expires: end)) }
        #expect(cache.content(of: 1, at: Self.start + .milliseconds(49)) == "1")
        #expect(cache.content(of: 1, at: end) == nil)
        #expect(cache.content(of: 3, at: end) == nil)
        #expect(cache.size == 0)
        // A later version of the content has its own time.
        #expect(Self.add(1, bytes: 10, to: &cache, expires: end))
        #expect(Self.add(1, bytes: 20, to: &cache, expires: end + .milliseconds(50)))
        #expect(cache.content(of: 1, at: end) == "1")
        #expect(cache.size == 20 + Self.overhead)
    }

    @Test("the content of chosen keys is removed")
    func removal() {
        var cache = Cache(capacity: 10_000)
        for key in 1...4 { #expect(Self.add(key, bytes: 10, to: &cache)) }
        cache.removeAll { $0 % 2 == 0 }
        #expect(cache.count == 2 && cache.size == 2 * (10 + Self.overhead))
        #expect(cache.content(of: 2, at: Self.start) == nil && cache.content(of: 3, at: Self.start) == "3")
    }

    @Test("many uses of the same content keep the order of the others")
    func manyUses() {
        var cache = Cache(capacity: 3 * (100 + Self.overhead))
        for key in 1...3 { #expect(Self.add(key, bytes: 100, to: &cache)) }
        for _ in 0..<1_000 { #expect(cache.content(of: 2, at: Self.start) == "2") }
        #expect(Self.add(4, bytes: 100, to: &cache))
        #expect(Self.add(5, bytes: 100, to: &cache))
        #expect(cache.content(of: 2, at: Self.start) == "2")
        #expect(cache.content(of: 1, at: Self.start) == nil && cache.content(of: 3, at: Self.start) == nil)
    }

    @Test("a node that reports viewers counts less its own request, until its report is old")
    func nodeViewers() {
        var viewers = NodeViewers()
        viewers.note(50, of: "a", at: Self.start)
        viewers.note(1, of: "b", at: Self.start)
        viewers.note(0, of: "c", at: Self.start)
        viewers.note(-5, of: "d", at: Self.start)
        #expect(viewers.count(at: Self.start) == 49)
        viewers.note(7, of: "a", at: Self.start)
        #expect(viewers.count(at: Self.start) == 6)
        viewers.note(.max, of: "b", at: Self.start + .seconds(1))
        #expect(viewers.count(at: Self.start + .seconds(10)) == NodeViewers.maximumCount - 1)
        #expect(viewers.nodeCount(at: Self.start + .seconds(10)) == 1)
        viewers.note(0, of: "idle", at: Self.start + .seconds(10))
        #expect(viewers.nodeCount(at: Self.start + .seconds(10)) == 1)
        #expect(viewers.nodeCount(at: Self.start + .seconds(100)) == 0)
        #expect(viewers.count(at: Self.start + .seconds(11)) == 0)
    }
}
