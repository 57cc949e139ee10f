import PCastCore
import Testing

@testable import PCastCLI

struct ArgumentTests {
    @Test("a listening address is a host and a port, with IPv6 in brackets")
    func listen() {
        #expect(ListenArgument(argument: "127.0.0.1:8080") == .standard)
        #expect(ListenArgument(argument: "[::1]:0") == ListenArgument(host: "::1", port: 0))
        #expect(ListenArgument(argument: "[::1]:0")?.description == "[::1]:0")
        for text in ["", "8080", ":8080", "::1:80", "host:", "host:65536", "host:-1", "[]:1"] {
            #expect(ListenArgument(argument: text) == nil, "\(text)")
        }
    }

    @Test("only loopback addresses count as loopback")
    func loopback() {
        #expect(ListenArgument(argument: "localhost:1")?.isLoopback == true)
        #expect(ListenArgument(argument: "127.3.2.1:1")?.isLoopback == true)
        #expect(ListenArgument(argument: "[::1]:1")?.isLoopback == true)
        #expect(ListenArgument(argument: "0.0.0.0:1")?.isLoopback == false)
        #expect(ListenArgument(argument: "[::]:1")?.isLoopback == false)
        #expect(ListenArgument(argument: "10.0.0.1:1")?.isLoopback == false)
    }

    @Test("the secret of an application may contain colons, and is not printed")
    func application() {
        let application = ApplicationArgument(argument: "app:se:cret")
        #expect(application == ApplicationArgument(id: "app", secret: "se:cret"))
        #expect("\(application!)" == "app:…")
        #expect(!String(reflecting: application!).contains("cret"))
        for text in ["", "app", "app:", ":secret"] { #expect(ApplicationArgument(argument: text) == nil) }
    }

    @Test("sizes are even and in range, and bit rates have an optional unit")
    func figures() {
        #expect(SizeArgument(argument: "1280x720") == SizeArgument(width: 1280, height: 720))
        for text in ["", "1280", "1280x", "1281x720", "0x0", "1280x720x1", "8192x4096", "-2x16"] {
            #expect(SizeArgument(argument: text) == nil, "\(text)")
        }
        #expect(BitrateArgument(argument: "2500k")?.bitrate == .kilobits(2_500))
        #expect(BitrateArgument(argument: "2.5M")?.bitrate == .kilobits(2_500))
        #expect(BitrateArgument(argument: "300000")?.bitrate == .kilobits(300))
        for text in ["", "k", "1", "-5k", "1e9", "nan", "inf", "200M", "1.2.3k"] {
            #expect(BitrateArgument(argument: text) == nil, "\(text)")
        }
    }
}

struct DurationArgumentTests {
    @Test(
        "durations have units or the form of ISO 8601",
        arguments: [
            ("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("1.5s", 1_500), ("0s", 0),
            ("PT10S", 10_000), ("pt0.5s", 500), ("PT1H30M", 5_400_000), ("P1D", 86_400_000),
            ("P1DT12H", 129_600_000), ("10S", 10_000),
        ])
    func read(_ text: String, _ milliseconds: Int64) {
        #expect(DurationArgument(argument: text)?.span == .milliseconds(milliseconds))
    }

    @Test(
        "an invalid duration is rejected",
        arguments: [
            "", "10", "s", "ms", "-5s", "+5s", "1e3s", "infs", "nans", "0x10s", "5 s", "1.s", ".5s", "1.2.3s", "P",
            "PT",
            "P1", "PT5", "PT1S1M", "P1H", "PTS", "10d", "999999999999h", "1234567890123s", "٣s",
        ])
    func refuse(_ text: String) {
        #expect(DurationArgument(argument: text) == nil)
    }
}
