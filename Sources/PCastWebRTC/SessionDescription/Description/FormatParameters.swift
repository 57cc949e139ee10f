/// The parameters of an `a=fmtp` line, or the restrictions of an `a=rid` line, in their order.
public struct FormatParameters: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// A parameter.
    public struct Parameter: Hashable, Sendable {
        /// The name as written. Names are compared without regard to case.
        public var name: String
        /// The value; nil for a parameter without `=`, e.g. RED's `111/111`.
        public var value: String?

        /// Creates a parameter.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The parameters in the order of the line.
    public var parameters: [Parameter]

    /// Creates a list of parameters.
    public init(_ parameters: [Parameter] = []) { self.parameters = parameters }

    /// Creates a list of parameters with names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        parameters = elements.map { Parameter(name: $0.0, value: $0.1) }
    }

    /// Parses the parameters after the format. Those without a name are ignored.
    init(parsing text: SDPText) {
        parameters = text.pieces(at: ";").compactMap { piece in
            let (name, value) = piece.trimmed.divided(at: "=")
            guard !name.isEmpty else { return nil }
            return Parameter(name: name.trimmed.string, value: value?.trimmed.string)
        }
    }

    /// Whether there are no parameters.
    public var isEmpty: Bool { parameters.isEmpty }

    /// The value of the first parameter with a name, regardless of case; nil if there is none.
    ///
    /// Setting replaces the value or appends a parameter, and nil removes it.
    public subscript(name: String) -> String? {
        get { index(of: name).flatMap { parameters[$0].value } }
        set {
            let index = index(of: name)
            switch (index, newValue) {
            case (let index?, nil): parameters.remove(at: index)
            case (let index?, let value?): parameters[index].value = value
            case (nil, let value?): parameters.append(Parameter(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Returns the index of the first parameter with a name.
    private func index(of name: String) -> Int? {
        let wanted = name.asciiLowercased
        return parameters.firstIndex { $0.name.asciiLowercased == wanted }
    }

    /// The parameters, separated by semicolons.
    var text: String {
        parameters.map { parameter in
            guard let value = parameter.value else { return parameter.name }
            return "\(parameter.name)=\(value)"
        }.joined(separator: ";")
    }
}
