/// The parameters of an `a=fmtp` line, or the restrictions of an `a=rid` line, in the order written.
public struct FormatParameters: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// One `name=value`.
    public struct Parameter: Hashable, Sendable {
        /// As written; names compare without regard to case.
        public var name: String
        /// Nil for a parameter without `=`, such as RED's `111/111`.
        public var value: String?

        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// In the order written.
    public var parameters: [Parameter]

    public init(_ parameters: [Parameter] = []) { self.parameters = parameters }

    public init(dictionaryLiteral elements: (String, String)...) {
        parameters = elements.map { Parameter(name: $0.0, value: $0.1) }
    }

    init(parsing text: SDPText) {
        parameters = text.pieces(at: ";").compactMap { piece in
            let (name, value) = piece.trimmed.divided(at: "=")
            guard !name.isEmpty else { return nil }
            return Parameter(name: name.trimmed.string, value: value?.trimmed.string)
        }
    }

    /// Whether there are none.
    public var isEmpty: Bool { parameters.isEmpty }

    /// The value of the first parameter of that name, whose case does not matter. Setting replaces it or appends one.
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

    private func index(of name: String) -> Int? {
        let wanted = name.asciiLowercased
        return parameters.firstIndex { $0.name.asciiLowercased == wanted }
    }

    var text: String {
        parameters.map { parameter in
            guard let value = parameter.value else { return parameter.name }
            return "\(parameter.name)=\(value)"
        }.joined(separator: ";")
    }
}
