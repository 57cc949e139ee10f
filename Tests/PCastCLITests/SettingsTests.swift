import ArgumentParser
import Foundation
import PCastPlatform
import Testing

@testable import PCastCLI

struct SettingsTests {
    private static let file = """
        # Remark
        serve:
          listen: 10.0.0.1:1000  # another
          application: ["a:secret = # ,1", b:two]
          limit: {viewers: 5, bitrate: 2.5M}

        publish:
          tag: one
          audio: null
        subscribe:
        """

    private func settings(_ environment: [String: String]) throws -> Settings {
        Settings(
            command: "serve", environment: environment,
            file: try ConfigurationFile(text: Self.file, path: "pcast.yaml"))
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

    @Test("repeatable options have a list in the file, and are separated by commas in the environment")
    func repeated() throws {
        let inFile = [
            ApplicationArgument(id: "a", secret: "secret = # ,1"), ApplicationArgument(id: "b", secret: "two"),
        ]
        #expect(try settings([:]).values("application", [ApplicationArgument]()) == inFile)
        #expect(try settings([:]).values("limit", [String]()) == ["viewers=5", "bitrate=2.5M"])
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

    @Test("an invalid value of the file is rejected with its line, and is not repeated")
    func unusableInFile() throws {
        let file = try ConfigurationFile(text: "serve:\n  quiet: no\n  rtcPort: 99999\n", path: "F")
        let settings = Settings(command: "serve", environment: [:], file: file)
        let failure = #expect(throws: CommandFailure.self) { try settings.value("rtc-port", UInt16?.none) }
        #expect(failure?.sentence == "F, line 3: “rtcPort” is invalid: see “pcast serve --help” for its format.")
    }

    @Test(
        "a mistake in the file is named with its line",
        arguments: [
            ("listen: a:1", 1, "the section “listen” does not exist"), ("serve:\n\n  listen", 3, ""),
            ("serve:\n  rtc-port: 1", 2, "no option “rtc-port” (did you mean “rtcPort”?)"),
            ("nonsense:", 1, "the section “nonsense”"),
            ("serve:\n  video: null", 2, "“pcast serve” has no option “video”"),
            ("serve:\n  listen:\n", 2, "“listen” has no value"),
            ("serve:\n  quiet: true\n  listen: [a, b]", 3, "“listen” has one value, not a list"),
            ("serve:\n  listen: {a: b}", 2, "must be a text, not a mapping"),
            ("publish:\n  tag:\n    - one\n    - [two]", 4, "a value of “tag” must be a text"),
            ("serve:\n  limit:\n    viewers: [1]", 3, "“viewers” must be a text"),
            ("serve:\n  quiet: true\n  listen: a\n  quiet: true", 2, "“quiet” is given twice"),
            ("- serve", 1, "must be a mapping"), ("serve: 5", 1, "must be a mapping"),
            ("serve:\n  listen: [::1]:8080", 2, ""),
        ])
    func badLines(_ text: String, _ line: Int, _ reason: String) {
        let failure = #expect(throws: CommandFailure.self) { try ConfigurationFile(text: text, path: "F") }
        #expect(failure?.sentence?.hasPrefix("F, line \(line): ") == true, "\(failure?.sentence ?? "")")
        #expect(reason.isEmpty || failure?.sentence?.contains(reason) == true, "\(failure?.sentence ?? "")")
    }

    @Test("the options that are set are listed with their variable or line, without secrets, and can be read again")
    func listed() throws {
        let text = "\n  uri: srt://user:word@192.0.2.1:9000?passphrase=hidden\n  token: DIGEST:abc\n"
        let file = try ConfigurationFile(text: Self.file + text, path: "F")
        let serve = Settings(
            command: "serve", environment: ["PCAST_SERVE_STUN": "a:1,[::1]:2"], file: file)
        #expect(
            serve.all.map(\.origin) == ["line 4", "line 5", "line 3", "PCAST_SERVE_STUN"])
        #expect(serve.all.map(\.shownValues).first == ["a:…", "b:…"])
        let publish = Settings(command: "publish", environment: [:], file: file)
        let subscribe = Settings(command: "subscribe", environment: [:], file: file)
        let sections = [("serve", serve), ("publish", publish), ("subscribe", subscribe)]
        let printed = sections.map { command, settings in
            ([command + ":"] + settings.all.map(\.yaml)).joined(separator: "\n")
        }.joined(separator: "\n")
        for secret in ["secret", "two", "word", "hidden", "abc"] { #expect(!printed.contains(secret), "\(printed)") }
        let again = try ConfigurationFile(text: printed, path: "F")
        #expect(again.entries["serve.stun"]?.values == ["a:1", "[::1]:2"])
        #expect(again.entries["serve.listen"]?.values == ["10.0.0.1:1000"])
        #expect(again.entries["serve.limit"]?.values == ["viewers=5", "bitrate=2.5M"])
        #expect(again.entries["publish.audio"]?.values == ["null"])
        #expect(again.entries["subscribe.uri"]?.values == ["srt://192.0.2.1:9000"])
    }

    @Test(
        "a printed value is the same when it is read again",
        arguments: [
            "plain", "127.0.0.1:8080", "[::1]:8080", "a: b", "a #b", "#", "'self'", "\"", "\\", "-", "- a", "~", "a:",
            "",
            "line\nline", "\u{1}", "…", "{a}", "*", "&a", "!", "%", "@", "null", "true", "ü 😀", "? a", "\u{2028}\u{85}",
        ])
    func scalars(_ value: String) throws {
        let text = "publish:\n  tag:\n    - \(Setting.scalar(value))"
        #expect(try ConfigurationFile(text: text, path: "F").entries["publish.tag"]?.values == [value])
    }

    @Test("config check reports the first mistake of any section, and accepts the example")
    func check() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("pcast.yaml").path
        for (text, part) in [
            ("publish:\n  fps: 500", "--fps 500"), ("serve:\n  limit: viewer=1", "did you mean “viewers”?"),
            ("subscribe:\n  record: a.avi", "--record a.avi"), ("publish:\n  logLevel: loud", "line 2: “logLevel”"),
            ("subscribe:\n  playoutDelay: 0s", "--playout-delay 0.0s"), ("subscribe:\n  playoutDelay: 2s", nil),
            ("subscribe:\n  verbose: 1", nil),
            ("", nil), ("# Nothing is set.\n", nil), ("serve:\n  stun: no-name.invalid:1", nil),
        ] {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let check = try ConfigCheckCommand.parse(["--config", path, "--quiet"])
            if let part {
                let failure = #expect(throws: CommandFailure.self) { try check.run() }
                #expect(failure?.status == .unusableArguments)
                #expect(failure?.sentence?.contains(part) == true, "\(failure?.sentence ?? "")")
            } else {
                #expect(throws: Never.self) { try check.run() }
            }
        }
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
            try ConfigurationFile(text: "serve:\n  lisen: 127.0.0.1:1", path: "F")
        }
        #expect(key?.sentence == "F, line 2: “pcast serve” has no option “lisen” (did you mean “listen”?).")
        let section = #expect(throws: CommandFailure.self) { try ConfigurationFile(text: "server:", path: "F") }
        #expect(section?.sentence?.contains("did you mean “serve”?") == true)
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

    @Test("configs/pcast.yaml has every key, and is valid with each comment made a line")
    func documented() throws {
        let repository = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let path = repository.appendingPathComponent("configs/pcast.yaml").path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(try ConfigurationFile(text: text, path: path).entries.isEmpty)
        var section = ""
        var lines: [String] = []
        var documented: [String: Set<String>] = [:]
        var streamKeys: Set<String> = []
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: /([a-z]+):/) { section = String(match.1) }
            if section == ConfigurationFile.streamsSection {
                let key = line.wholeMatch(of: #/  #   ([a-zA-Z]+): .+/#).map { String($0.1) }
                if let key { streamKeys.insert(key) }
                let isName = line.wholeMatch(of: #/  # [a-z0-9*-]+:/#) != nil
                lines.append(key != nil || isName ? "  " + line.dropFirst(4) : String(line))
                continue
            }
            if let match = line.wholeMatch(of: #/  # ([a-zA-Z][a-zA-Z0-9]*):( [^ ]+)?/#) {
                documented[section, default: []].insert(String(match.1))
                lines.append("  " + line.dropFirst(4))
            } else if line.wholeMatch(of: #/  #   (- .+|[a-z0-9-]+: [^ ]+)/#) != nil {
                lines.append("  " + line.dropFirst(4))
            } else {
                lines.append(String(line))
            }
        }
        #expect(documented == ConfigurationFile.options.mapValues { Set($0.map(ConfigurationFile.key)) })
        let all = try ConfigurationFile(text: lines.joined(separator: "\n"), path: path)
        #expect(all.entries.count == documented.values.reduce(0) { $0 + $1.count })
        #expect(streamKeys == Set(StreamsSection.keys))
        #expect(all.streams.all.count == 3)
        var limits = PlatformLimits()
        let written = try #require(all.entries["serve.limit"]?.values)
        for value in written { try #require(LimitArgument(argument: value)).set(in: &limits) }
        // The written values are the defaults.
        #expect(limits == PlatformLimits() && written.count == PlatformLimits.Name.allCases.count)
    }
}
