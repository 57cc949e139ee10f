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
