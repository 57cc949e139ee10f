/// What a file or an address is called in errors: without the user's name, password and token in it.
enum MediaName {
    static func withoutSecrets(_ uri: String) -> String {
        guard let scheme = uri.range(of: "://") else { return uri }
        var rest = uri[scheme.upperBound...]
        if let query = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) { rest = rest[..<query] }
        let path = rest.firstIndex(of: "/") ?? rest.endIndex
        if let sign = rest[..<path].lastIndex(of: "@") { rest = rest[rest.index(after: sign)...] }
        return String(uri[..<scheme.upperBound] + rest)
    }
}

extension String {
    fileprivate func range(of separator: String) -> Range<Index>? {
        let wanted = Array(separator.utf8)
        var index = startIndex
        while index < endIndex {
            if self[index...].utf8.starts(with: wanted) {
                return index..<utf8.index(index, offsetBy: wanted.count)
            }
            index = self.index(after: index)
        }
        return nil
    }
}
