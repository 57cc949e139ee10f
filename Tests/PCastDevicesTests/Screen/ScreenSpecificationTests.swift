import Testing

@testable import PCastDevices

@Suite("Screens as text")
struct ScreenSpecificationTests {
    @Test(
        "each form has the meaning of the table",
        arguments: [
            ("", ScreenSpecification()), ("x11:", .init()), (":0", .init(display: ":0")),
            (":99.0", .init(display: ":99.0")), ("x11::0.0", .init(display: ":0.0")),
            ("host:10.0", .init(display: "host:10.0")), ("[::1]:0", .init(display: "[::1]:0")),
            ("HDMI-1", .init(area: .monitor("HDMI-1"))), ("DP-2.1", .init(area: .monitor("DP-2.1"))),
            (":0.0:HDMI-1", .init(display: ":0.0", area: .monitor("HDMI-1"))),
            ("x11:host:10:eDP-1", .init(display: "host:10", area: .monitor("eDP-1"))),
            ("0x1400003", .init(area: .window(0x140_0003))), ("+0x1400003", .init(area: .window(0x140_0003))),
            (":0.0+0x1400003", .init(display: ":0.0", area: .window(0x140_0003))),
            (":1+20971523", .init(display: ":1", area: .window(0x140_0003))),
        ])
    func forms(_ text: String, _ expected: ScreenSpecification) throws {
        let specification = try ScreenSpecification(text)
        #expect(specification == expected)
        #expect(try ScreenSpecification(specification.description) == expected, "\(specification)")
    }

    @Test(
        "invalid text is rejected",
        arguments: [
            ":0+", ":0+0x", ":0+0", ":0+0x0", ":0+-3", ":0+0x100000000", "0xmonitor", ":0:", ":0:a:b", ":x", ":", "a b",
            ":0.0:HDMI 1", String(repeating: "m", count: 600),
        ])
    func nonsense(_ text: String) {
        #expect(throws: DeviceError.self) { try ScreenSpecification(text) }
    }
}
