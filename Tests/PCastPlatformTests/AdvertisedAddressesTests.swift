import PCastCore
import PCastIO
import Testing

@testable import PCastPlatform

@Suite("The addresses of candidates")
struct AdvertisedAddressesTests {
    private static let interfaces: [LocalAddress] = [
        LocalAddress(ip: .loopbackV4, interface: "lo", isLoopback: true, isRunning: true),
        LocalAddress(ip: IPAddress("::1")!, interface: "lo", isLoopback: true, isRunning: true),
        LocalAddress(ip: IPAddress("192.0.2.7")!, interface: "eth0", isLoopback: false, isRunning: true),
        LocalAddress(ip: IPAddress("2001:db8::7")!, interface: "eth0", isLoopback: false, isRunning: true),
        LocalAddress(ip: IPAddress("172.17.0.1")!, interface: "docker0", isLoopback: false, isRunning: false),
    ]

    private func texts(
        _ addresses: AdvertisedAddresses, _ interfaces: [LocalAddress] = Self.interfaces,
        _ families: [IPAddress.Family] = [.v4, .v6]
    ) -> [String] {
        addresses.addresses(port: 8189, interfaces: interfaces, families: families).map(\.description)
    }

    private func make(
        _ listen: String, named: [String] = [], discovered: [String] = []
    ) -> AdvertisedAddresses {
        AdvertisedAddresses(
            named: named.map { IPAddress($0)! }, discovered: discovered.map { TransportAddress($0)! },
            listen: IPAddress(listen)!)
    }

    @Test("a platform on loopback lists that first, and then the addresses of interfaces, with or without a carrier")
    func loopback() {
        let v4 = make("127.0.0.1")
        #expect(v4.localOnly == [.anyV4, IPAddress("::")!])
        #expect(
            texts(v4) == ["127.0.0.1:8189", "192.0.2.7:8189", "[2001:db8::7]:8189", "172.17.0.1:8189"])
        let v6 = make("::1")
        #expect(v6.localOnly == [IPAddress("::")!, .anyV4])
        #expect(texts(v6).first == "[::1]:8189" && texts(v6).count == 4)
    }

    @Test("an address family that could not be bound is not listed")
    func families() {
        #expect(texts(make("127.0.0.1"), Self.interfaces, [.v4]).allSatisfy { !$0.contains("2001") })
        #expect(texts(make("127.0.0.1"), Self.interfaces, []) == ["127.0.0.1:8189"])
        #expect(texts(make("0.0.0.0"), Self.interfaces, [.v4]).count == 3)
    }

    @Test("configured addresses are the only ones, and no others are opened")
    func named() {
        let addresses = make("127.0.0.1", named: ["203.0.113.5"])
        #expect(addresses.localOnly.isEmpty)
        #expect(texts(addresses) == ["203.0.113.5:8189"])
    }

    @Test("a platform on one address lists only that, on all addresses all of them, and each the result of STUN")
    func others() {
        let one = make("192.0.2.7", discovered: ["198.51.100.1:40000", "192.0.2.7:8189"])
        #expect(one.localOnly.isEmpty)
        #expect(texts(one, Self.interfaces, []) == ["192.0.2.7:8189", "198.51.100.1:40000"])
        let all = make("0.0.0.0")
        #expect(all.localOnly.isEmpty)
        #expect(texts(all).count == Self.interfaces.count)
    }

    @Test("a host with hundreds of bridges does not fill answers with them")
    func many() {
        let bridges = (1...200).map { number in
            LocalAddress(
                ip: IPAddress("172.18.\(number).1")!, interface: "br\(number)", isLoopback: false, isRunning: true)
        }
        #expect(texts(make("127.0.0.1"), bridges).count == 1 + AdvertisedAddresses.maximumInterfaceAddresses)
    }
}
