import Foundation
import PCastPlatform
import Testing

@testable import PCastCLI

struct SettingsTests {
    private static let file = """
        # Remark
        [serve]
        listen = 10.0.0.1:1000
        application = a:secret = # ,1
        application = b:two

        [publish]
        tag = one
        """

    private func settings(_ environment: [String: String]) throws -> Settings {
        Settings(
            command: "serve", environment: environment,
            file: try ConfigurationFile(text: Self.file, path: "pcast.conf"))
    }

    @Test("the command line overrides the environment, and that overrides the file")
    func order() throws {
        let given = ListenArgument(host: "given", port: 1)
        let variables = ["PCAST_SERVE_LISTEN": "variable:2", "PCAST_PUBLISH_LISTEN": "other:3"]
        #expect(try settings(variables).value("listen", given) == given)
        #expect(try settings(variables).value("listen", ListenArgument?.none)?.host == "variable")
        #expect(try settings([:]).value("listen", ListenArgument?.none)?.host == "10.0.0.1")
        #expect(try settings([:]).value("rtc-port", UInt16?.none) == nil)
        #expect(try settings(["PCAST_SERVE_RTC_PORT": "9"]).value("rtc-port", UInt16?.none) == 9)
    }

    @Test("repeatable options are one per line in the file, and separated by commas in the environment")
    func repeated() throws {
        let inFile = [
            ApplicationArgument(id: "a", secret: "secret = # ,1"), ApplicationArgument(id: "b", secret: "two"),
        ]
        #expect(try settings([:]).values("application", [ApplicationArgument]()) == inFile)
        let variables = ["PCAST_SERVE_APPLICATION": "c:1,d:2"]
        #expect(try settings(variables).values("application", [ApplicationArgument]()).map(\.id) == ["c", "d"])
    }

    @Test("an invalid setting is rejected with its place, and its value is not repeated")
    func unusable() throws {
        let variables = ["PCAST_SERVE_APPLICATION": "topsecret"]
        do {
            _ = try settings(variables).values("application", [ApplicationArgument]())
            Issue.record("the value was accepted")
        } catch let failure as CommandFailure {
            #expect(failure.status == .unusableArguments)
            #expect(failure.sentence?.contains("PCAST_SERVE_APPLICATION") == true)
            #expect(failure.sentence?.contains("topsecret") == false)
        }
    }

    @Test(
        "an invalid line of the file is named",
        arguments: [
            ("listen = a:1", 1), ("[serve]\n\nlisten", 3), ("[serve]\nport = 1", 2), ("[nonsense]", 1),
            ("[serve]\nvideo = null", 2),
        ])
    func badLines(_ text: String, _ line: Int) {
        let failure = #expect(throws: CommandFailure.self) { try ConfigurationFile(text: text, path: "F") }
        #expect(failure?.sentence?.hasPrefix("F, line \(line): ") == true)
    }
}

/// Suggestions for misspelled names.
struct NearestNameTests {
    private let names = ["listen", "rtc-port", "limit", "tls-port", "trusted-proxy"]

    @Test(
        "the nearest name is found if letters are changed, missing, doubled or swapped",
        arguments: [
            ("lsiten", "listen"), ("listn", "listen"), ("rtcport", "rtc-port"), ("limits", "limit"),
            ("trusted_proxy", "trusted-proxy"), ("tls-prot", "tls-port"),
        ])
    func nearest(_ written: String, _ meant: String) { #expect(NearestName.find(written, among: names) == meant) }

    @Test("an unrelated name has no nearest name", arguments: ["", "x", "colour", "application"])
    func nothing(_ written: String) { #expect(NearestName.find(written, among: names) == nil) }

    @Test("an unknown key or variable is an error with the nearest name") func unknownKeyIsReported() {
        let key = #expect(throws: CommandFailure.self) {
            try ConfigurationFile(text: "[serve]\nlisen = 127.0.0.1:1", path: "F")
        }
        #expect(key?.sentence == "F, line 2: “pcast serve” has no option “lisen” (did you mean “listen”?).")
        let section = #expect(throws: CommandFailure.self) { try ConfigurationFile(text: "[server]", path: "F") }
        #expect(section?.sentence?.contains("did you mean [serve]?") == true)
        let variable = #expect(throws: CommandFailure.self) {
            try Settings.checkVariables(
                of: "serve", in: ["PCAST_SERVE_LIMITS": "viewers=1", "PCAST_LOG_LEVEL": "info"])
        }
        #expect(variable?.sentence?.contains("did you mean “PCAST_SERVE_LIMIT”?") == true)
        #expect(variable?.status == .unusableArguments)
    }

    @Test("limits are set by name; an unknown one is an error with the nearest name") func limits()
        throws
    {
        var limits = PlatformLimits()
        try #require(LimitArgument(argument: "viewers-per-address = 7")).set(in: &limits)
        try #require(LimitArgument(argument: "bitrate-per-stream=2.5M")).set(in: &limits)
        try #require(LimitArgument(argument: "bitrate=0")).set(in: &limits)
        #expect(limits[.viewersPerAddress] == 7 && limits[.bitratePerStream] == 2_500_000)
        #expect(limits.changed == [.viewersPerAddress, .bitratePerStream])
        for (text, part) in [
            ("viewer=1", "did you mean “viewers”?"), ("viewers=many", "must be a number"),
            ("viewers=-1", "must be a number"),
            ("viewers=2.5M", "must be a number"),
        ] {
            let argument = try #require(LimitArgument(argument: text))
            let failure = #expect(throws: CommandFailure.self) { try argument.set(in: &limits) }
            #expect(failure?.sentence?.contains(part) == true, "\(text)")
        }
        #expect(LimitArgument(argument: "viewers") == nil)
    }

    @Test("configs/pcast.conf has every key, and is valid with each comment made a line")
    func documented() throws {
        let repository = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let path = repository.appendingPathComponent("configs/pcast.conf").path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        _ = try ConfigurationFile(text: text, path: path)
        var command = ""
        var lines: [String] = []
        var documented: [String: Set<String>] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") { command = String(line.dropFirst().dropLast()) }
            guard let match = line.wholeMatch(of: /(# )?([a-z0-9-]+) = .+/) else {
                lines.append(String(line))
                continue
            }
            documented[command, default: []].insert(String(match.2))
            lines.append(String(line.drop { $0 == "#" || $0 == " " }))
        }
        #expect(documented == ConfigurationFile.options)
        let all = try ConfigurationFile(text: lines.joined(separator: "\n"), path: path)
        var limits = PlatformLimits()
        let written = try #require(all.values["serve.limit"])
        for value in written { try #require(LimitArgument(argument: value)).set(in: &limits) }
        // The written values are the defaults.
        #expect(limits == PlatformLimits() && written.count == PlatformLimits.Name.allCases.count)
    }
}
