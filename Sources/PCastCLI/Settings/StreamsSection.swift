import PCastCore
import PCastPlatform
import PCastYAML

/// The section `streams` of the configuration file: declared streams by their names.
enum StreamsSection {
    /// The keys of a declaration.
    static let keys = [
        "application", "source", "onDemand", "closeAfter", "fallback", "slate", "standby", "switchBack", "forward",
        "record", "capabilities",
    ]

    /// Parses the section, whose names may be patterns.
    ///
    /// - Throws: `YAMLError` with the line of a mistake.
    static func read(_ section: YAMLMember) throws(YAMLError) -> StreamDeclarations {
        if section.value.content == .null { return StreamDeclarations() }
        let members = try section.value.members("the section “\(section.name)”")
        let names = Set(members.map(\.name))
        var declarations: [StreamDeclaration] = []
        for member in members { declarations.append(try declaration(member, names)) }
        do throws(StreamDeclarations.Mistake) {
            return try StreamDeclarations(declarations)
        } catch {
            throw located(error, members)
        }
    }

    /// Returns the error of a mistake with the line of its key, and the nearest name for an unknown fallback.
    private static func located(_ mistake: StreamDeclarations.Mistake, _ members: [YAMLMember]) -> YAMLError {
        let member = members.last { $0.name == mistake.name }
        guard let member, mistake.key != "name", case .mapping(let values) = member.value.content,
            let value = values.first(where: { $0.name == mistake.key })
        else {
            return YAMLError(line: member?.line, reason: "the name of the stream “\(mistake.name)” \(mistake.reason)")
        }
        var nearest = ""
        if mistake.key == "fallback", case .scalar(let name, _) = value.value.content {
            nearest = NearestName.suggestion(name, among: members.map(\.name).filter { $0 != name })
        }
        return value.refusal("of the stream “\(mistake.name)” \(mistake.reason)\(nearest)")
    }

    private static func declaration(
        _ member: YAMLMember, _ names: Set<String>
    ) throws(YAMLError) -> StreamDeclaration {
        var declaration = StreamDeclaration(name: member.name)
        // A name without a value is a stream that is published.
        if member.value.content == .null { return declaration }
        for value in try member.value.members("the stream “\(member.name)”") {
            switch value.name {
            case "application": declaration.application = ApplicationID(try value.text())
            case "source": declaration.source = try value.text()
            case "onDemand": declaration.isOnDemand = try value.boolean()
            case "closeAfter":
                guard let duration = DurationArgument(argument: try value.text()) else {
                    throw value.refusal("must be a duration such as 10s")
                }
                declaration.closeAfter = duration.span.duration
            case "fallback":
                let text = try value.text()
                declaration.fallback = StreamDeclaration.Fallback(text, isDeclared: names.contains(text))
            case "slate":
                guard case .scalar(let text, _) = value.value.content else { throw value.refusal("must be a text") }
                declaration.slate = text
            case "standby": declaration.hasStandby = try value.boolean()
            case "switchBack": declaration.switchesBack = try value.boolean()
            case "forward": declaration.forward = try texts(value)
            case "record": declaration.isRecorded = try value.boolean()
            case "capabilities": declaration.capabilities = try texts(value)
            default:
                let nearest = NearestName.suggestion(value.name, among: keys)
                throw YAMLError(
                    line: value.line, reason: "a stream has no key “\(value.name)”\(nearest)")
            }
        }
        return declaration
    }

    /// Returns the texts of a list, or a single text.
    private static func texts(_ member: YAMLMember) throws(YAMLError) -> [String] {
        if case .scalar = member.value.content { return [try member.text()] }
        var texts: [String] = []
        for element in try member.elements() {
            guard case .scalar(let text, _) = element.content else {
                throw YAMLError(line: element.line, reason: "a value of “\(member.name)” must be a text")
            }
            texts.append(text)
        }
        return texts
    }
}
