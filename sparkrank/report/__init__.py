"""Reports: results and definitions of metrics in forms for people, such as pages and charts."""
