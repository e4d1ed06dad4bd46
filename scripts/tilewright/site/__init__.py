"""The site of the pages: its files, its navigation, and the reference generated from the code.

``./scripts/docs`` runs MkDocs, which calls :mod:`tilewright.site.hook`.
"""
