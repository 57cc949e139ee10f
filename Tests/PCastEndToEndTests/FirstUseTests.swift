import Foundation
import Testing

extension EndToEnd {
    /// A platform on loopback, as `pcast serve` and `pcast publish` start it, with usual browsers on the same machine.
    /// None of them uses the loopback interface for media.
    @Suite("First use", .enabled(if: ThisMachine.hasNamespaces && ThisMachine.hasChromium && ThisMachine.hasFirefox))
    struct FirstUseTests {
        /// The addresses and routes of a machine's interface.
        enum Network: String, CaseIterable {
            case v4 = "v4"
            case v4WithRoute = "v4 route"
            case v6 = "v6"
            case v6WithRoute = "v6 route"

            /// Other tests use pages on a network with an IPv4 address and a route.
            static let tested = ThisMachine.isFull ? allCases : allCases.filter { $0 != .v4WithRoute }
        }

        @Test(
            "with an interface a browser publishes and watches over either family, with or without a default route",
            .timeLimit(.minutes(5)), arguments: Network.tested, ["chromium", "firefox"])
        func pages(network: Network, browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let machine = try await MachineNetwork.start(network.rawValue, in: workspace)
                let platform = try await machine.serve()
                // Firefox uses a network without a default route only if the page may capture.
                let isAllowed = browser == "firefox" && !network.rawValue.contains("route")
                let pages = try machine.use(
                    platform, browser: browser, seconds: ThisMachine.isFull ? 3 : 1, isAllowed ? ["--allowed"] : [])
                let figures = try await pages.figures()
                print("\(browser), \(network.rawValue): \(figures)")
            }
        }

        @Test(
            "on a network without a default route the page states what Firefox requires", .timeLimit(.minutes(5)))
        func noRoute() async throws {
            try await TestWorkspace.run { workspace in
                let machine = try await MachineNetwork.start("v4", in: workspace)
                let publisher = try await machine.publish()
                let pages = try machine.use(
                    publisher.uri, browser: "firefox", seconds: 1,
                    ["--stream", publisher.stream, "--message", "no network address", "--explanation", "default route"])
                _ = try await pages.figures()
            }
        }

        @Test(
            "with loopback alone the pages report a missing address or connect, and play once an interface appears",
            .timeLimit(.minutes(5)), arguments: ["chromium", "firefox"])
        func loopbackAlone(browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let machine = try await MachineNetwork.start("", in: workspace)
                let platform = try await machine.serve()
                let alternative = browser == "chromium" ? ["--or-connects"] : []
                let publishing = try machine.use(
                    platform, browser: browser, seconds: 1, ["--message", "no network address"] + alternative)
                let message = try await publishing.figures()["publishMessage"]
                if browser == "firefox" || message[1].text != nil {
                    #expect(message[1].text?.contains("Connect this computer to a network") == true)
                }

                let publisher = try await machine.publish(codec: "vp8")
                let watching = try machine.use(
                    publisher.uri, browser: browser, seconds: 2,
                    ["--stream", publisher.stream, "--message", "no network address", "--comes-back"] + alternative,
                    hears: true)
                guard await watching.program.output.lines.first(where: { $0 == "waiting" }) != nil else {
                    throw EndToEndFailure("the page does not say that there is no address\n\(watching.program.report)")
                }
                try await machine.add("v4 v6 route")
                try watching.program.notify("continue")
                _ = try await watching.figures()
            }
        }

        @Test("a page names the codec that its browser lacks, and plays the audio", .timeLimit(.minutes(5)))
        func missingCodec() async throws {
            try await TestWorkspace.run { workspace in
                let machine = try await MachineNetwork.start("v4 route", in: workspace)
                let publisher = try await machine.publish(codec: "h264")
                // A new installation has no H.264 before it has downloaded its plug-in, and here it has no network.
                let pages = try machine.use(
                    publisher.uri, browser: "firefox", seconds: 1,
                    ["--stream", publisher.stream, "--message", "no H.264", "--explanation", "OpenH264", "--audio"])
                _ = try await pages.figures()
            }
        }

        @Test(
            "a page names H.265 that its browser lacks, and what helps, and plays the audio",
            .enabled(if: ThisMachine.hasFFmpeg), .timeLimit(.minutes(5)), arguments: ["chromium", "firefox"])
        func missingH265(browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let machine = try await MachineNetwork.start("v4 route", in: workspace)
                let publisher = try await machine.publish(codec: "h265", video: try await Film.makeH265(in: workspace))
                let pages = try machine.use(
                    publisher.uri, browser: browser, seconds: 1,
                    ["--stream", publisher.stream, "--message", "no H.265", "--explanation", "offer H.264", "--audio"])
                _ = try await pages.figures()
            }
        }

        @Test(
            "media of a platform on loopback is only for its own machine, and others receive no answer",
            .timeLimit(.minutes(5)), arguments: [1, 2])
        func unknownPeers(shards: Int) async throws {
            try await TestWorkspace.run { workspace in
                let machine = try await MachineNetwork.start("v4 v6 route", in: workspace)
                let platform = try await machine.serve(["--shards", "\(shards)"])
                guard let port = try await platform.program.event("listening")["rtcPort"].number.map({ "\(Int($0))" }),
                    let http = URLComponents(string: platform.uri)?.port
                else { throw EndToEndFailure("the platform does not tell its ports") }
                let addresses = MachineNetwork.addresses.flatMap { ["--address", $0] }
                let own = try Peer(
                    "unknown_client.py", addresses + ["--port", port, "--local"], in: machine.name, of: workspace,
                    seconds: 1)
                _ = try await own.figures()
                let unknownPeer = try Peer(
                    "unknown_client.py", addresses + ["--port", port, "--http", "\(http)"], in: machine.outside,
                    of: workspace,
                    seconds: 1)
                _ = try await unknownPeer.figures()
            }
        }
    }
}
