import Foundation

extension String {
    /// As it stands in the fragment of an address.
    var addingPercentEncoding: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self
    }
}
