import PCastCore
import PCastTestSupport
import Testing

struct AddressTranslationTests {
    @Test("a rebinding gives an inner address a new outer one, and the old one stops working")
    func rebinding() throws {
        var translation = AddressTranslation(outside: IPAddress(v4: 0xCB00_7101))
        let inner = try #require(TransportAddress("10.0.0.2:5000"))
        let other = try #require(TransportAddress("10.0.0.3:5000"))
        let outer = translation.translate(inner)
        #expect(outer.ip == IPAddress(v4: 0xCB00_7101))
        #expect(translation.translate(inner) == outer)
        #expect(translation.translate(other) != outer)
        #expect(translation.inner(of: outer) == inner)
        translation.rebind()
        #expect(translation.inner(of: outer) == nil)
        let next = translation.translate(inner)
        #expect(next != outer)
        #expect(translation.inner(of: next) == inner)
    }
}
