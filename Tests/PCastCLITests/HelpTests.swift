import ArgumentParser
import Foundation
import Testing

@testable import PCastCLI

struct HelpTests {
    private func help(_ command: any ParsableCommand.Type) -> String { command.helpMessage(columns: 100) }

    @Test("every specified command has its options, and --json")
    func options() {
        let expected: [(any ParsableCommand.Type, [String])] = [
            (ServeCommand.self, ["--config", "--listen", "--rtc-port", "--advertise", "--data", "--application"]),
            (
                PublishCommand.self,
                ["--uri", "--token", "--video", "--audio", "--tag", "--for", "--listen", "--on-demand"]
            ),
            (
                SubscribeCommand.self,
                ["--uri", "--token", "--stream", "--for", "--render", "--screenshot", "--record"]
            ),
            (
                TokenCreateCommand.self,
                [
                    "--application", "--expires-in", "--expires-at", "--uri", "--required-tag", "--remote-address",
                    "--session", "--stream", "--type", "--apply-tag", "--capability",
                ]
            ),
            (TokenVerifyCommand.self, ["<token>", "--secret"]),
            (ConfigCheckCommand.self, ["--config"]), (ConfigPrintCommand.self, ["--config"]),
            (DoctorCommand.self, ["--config", "--json"]),
            (DevicesCommand.self, ["--media", "--capabilities", "--watch"]),
            (
                PlayCommand.self,
                ["<uri>", "--render", "--cue", "--start", "--speed", "--loop", "--muted", "--screenshot", "--for"]
                    + ["--overlay", "--timeline", "--timeline-platform", "--timeline-token", "--spoiler"]
            ),
            (
                PlayoutCommand.self,
                ["<uri>", "--overlay", "--overlay-size", "--browser", "--loop", "--uri", "--token", "--tag", "--for"]
            ),
            (PullCommand.self, ["<address>", "--uri", "--token", "--tag", "--detached", "--for"]),
            (PushCommand.self, ["<stream>", "<address>", "--uri", "--token", "--for"]),
            (ChannelJoinCommand.self, ["<alias>", "--uri", "--token", "--for", "--screen-name", "--render"]),
            (
                ChannelPublishCommand.self,
                ["<alias>", "--uri", "--token", "--for", "--screen-name", "--video", "--audio"]
            ),
            (ChannelChatCommand.self, ["<alias>", "--uri", "--token", "--for", "--screen-name", "--history"]),
            (StreamsListCommand.self, ["--uri", "--application"]),
            (StreamsEndCommand.self, ["<stream>", "--reason"]),
            (RecordingsListCommand.self, ["--uri", "--application"]),
            (RecordingsGetCommand.self, ["<stream>", "--output", "--from", "--to", "--uri", "--application"]),
            (RecordingsDeleteCommand.self, ["<stream>", "--uri", "--application"]),
            (
                TimelineAddCommand.self,
                [
                    "<league>", "<game>", "--id", "--type", "--description", "--team", "--period", "--at", "--event",
                    "--update", "--delete", "--uri", "--application",
                ]
            ),
            (
                TimelineImportCommand.self,
                ["<league>", "<game>", "<file>", "--info", "--now", "--uri", "--application"]
            ),
            (TimelineFollowCommand.self, ["<league>", "<game>", "--since", "--for", "--token", "--uri"]),
        ]
        for (command, options) in expected {
            let text = help(command)
            for option in options + ["--json", "--help"] { #expect(text.contains(option), "\(command) \(option)") }
        }
    }

    private func leaves(of command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        let subcommands = command.configuration.subcommands
        return subcommands.isEmpty ? [command] : subcommands.flatMap { leaves(of: $0) }
    }

    @Test("each command groups its options by section, has an example, and can be more verbose and quiet")
    func sections() throws {
        let commands = leaves(of: PCastCommand.self).filter { $0.configuration.shouldDisplay }
        #expect(commands.count >= 15)
        for command in commands {
            let text = help(command)
            #expect(text.contains(/Examples?:\n +pcast [a-z]/), "\(command)")
            let output = try #require(text.components(separatedBy: "\nOUTPUT:\n").last)
            for option in ["--json", "-v, --verbose", "-q, --quiet", "--log-level"] {
                #expect(output.contains("  \(option)"), "\(command) \(option)")
            }
            // Only --help is outside of the sections.
            let rest = try #require(text.components(separatedBy: "\nOPTIONS:\n").last).split(separator: "\n")
            #expect(rest.count { $0.contains("--") } == 1, "\(command)")
        }
    }

    @Test("an example is not wrapped in a terminal of 80 columns, so its lines keep their indentation")
    func examples() {
        for command in leaves(of: PCastCommand.self) + [PCastCommand.self] where command.configuration.shouldDisplay {
            let lines = command.helpMessage(columns: 80).components(separatedBy: "\n")
            guard let start = lines.firstIndex(where: { $0 == "Examples:" || $0 == "Example:" }) else { continue }
            let examples = lines[(start + 1)...].prefix { !$0.isEmpty }
            #expect(examples.allSatisfy { $0.hasPrefix("  ") }, "\(command): \(examples.joined(separator: "\n"))")
        }
    }

    @Test("the configuration file has exactly the options of the commands")
    func configurationFile() {
        let commands: [(String, any ParsableCommand.Type)] = [
            ("serve", ServeCommand.self), ("publish", PublishCommand.self), ("subscribe", SubscribeCommand.self),
        ]
        for (name, command) in commands {
            let words = help(command).split { " \n[]".contains($0) }.filter { $0.hasPrefix("--") }
            let names = words.map { String($0.dropFirst(2)) }
            let options = Set(names.filter { $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" } })
            let apart: Set<String> = ["config", "json", "help", "version"]
            #expect(options.subtracting(apart) == ConfigurationFile.options[name])
        }
    }

    @Test("invalid arguments exit with status 2, and help with 0")
    func status() async {
        #expect(await Program.run(["token", "create", "--help"]) == .ended)
        #expect(await Program.run(["nonsense"]) == .unusableArguments)
        #expect(await Program.run(["token", "create"]) == .unusableArguments)
        #expect(await Program.run(["publish", "--for", "soon"]) == .unusableArguments)
        #expect(await Program.run(["timeline", "add", "NHL", "1", "--team", "nobody"]) == .unusableArguments)
        #expect(await Program.run(["timeline", "add", "NHL", "1", "--at", "yesterday"]) == .unusableArguments)
    }
}
